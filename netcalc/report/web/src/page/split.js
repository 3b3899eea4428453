// A split over devices: what the fullest one holds, the stages, and what it sends.
import { h, table } from './dom.js'
import { bytes, exact, measured } from './numbers.js'
import { stack } from './stack.js'

/** Kinds of memory of a device, with the color of each. */
const KINDS = { weights: 'Weights', gathered: 'Gathered layer', gradients: 'Gradients', states: 'States', activations: 'Activations', caches: 'Caches and states' }
const RANKS = { tp: 'tensor-parallel ranks', pp: 'pipeline stages', cp: 'context-parallel ranks', dp: 'replicas', ep: 'ranks of experts among them' }

/** What a device exchanges in a step; `number` makes ranks, span, calls and the bytes that it sends something to open. */
export function traffic(rows, number) {
  const columns = [{ title: 'Exchanged in a step' }, { title: 'Ranks', number: true }, { title: 'Span', number: true }, { title: 'Calls', number: true }, { title: 'Tensors', number: true }, { title: 'Sent', number: true }]
  const drawn = (row) => {
    const title = `${row.group} ${row.collective}`
    const name = `${title} over ${exact(row.ranks)} ranks`
    const counted = (field) => number(exact(row[field]), row[field], title, { sections: ['ranks, span and calls of what is exchanged'], steps: `${name}: ${field}` })
    return [title, ...['ranks', 'span', 'calls'].map(counted), bytes(row.size), number(bytes(row.sent), row.sent, title, { sections: ['bytes that a device sends in a step'], steps: `${name}, *` })]
  }
  return table(columns, rows.map(drawn))
}

export function split(network, openers) {
  const report = network.memory.split
  const size = (value, title, place, stage = report.fullest) => openers.number(bytes(value), value, title, network.workings.split[stage.stage], place)
  const { split: numbers, fullest } = report
  const words = Object.entries(RANKS).filter(([name]) => numbers[name] > 1).map(([name, title]) => `${exact(numbers[name])} ${title}`)
  if (numbers.sp) words.push('sequence parallelism')
  if (numbers.virtual_stages > 1) words.push(`${exact(numbers.virtual_stages)} parts of each stage`)
  if (numbers.zero) words.push(`ZeRO stage ${exact(numbers.zero)}`)
  const places = { ...Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, { sections: [kind] }])), caches: { sections: ['caches and states'] }, gathered: { sections: ['fullest device'], steps: 'gathered' } }
  const whole = { sections: ['fullest device'], steps: 'sum' }
  const parts = Object.entries(KINDS).filter(([kind]) => fullest[kind] !== 0).map(([kind, title]) => [title, fullest[kind], kind, size(fullest[kind], title, places[kind])])
  return [
    h('p', {}, `${exact(report.devices)} devices: ${words.join(', ')}.`),
    h('h3', {}, report.stages.length > 1 ? `The fullest device, of stage ${exact(fullest.stage)}` : 'A device'),
    stack(parts, size(fullest.total, 'The fullest device', whole)),
    report.stages.length > 1 && [
      table(
        [{ title: 'Stage' }, { title: 'Layers', number: true }, { title: 'Weights', number: true }, { title: 'Activations', number: true }, { title: 'In all', number: true }],
        report.stages.map((stage) => [
          exact(stage.stage),
          exact(stage.layers),
          ...['weights', 'activations'].map((kind) => size(stage[kind], `${KINDS[kind]}, stage ${exact(stage.stage)}`, places[kind], stage)),
          size(stage.total, `Stage ${exact(stage.stage)}`, whole, stage),
        ]),
      ),
      report.bubble > 0 && h('p', { class: 'quiet' }, `Bubble of the pipeline: ${measured(report.bubble)} of the time of its work.`),
    ],
    report.traffic.length > 0 && traffic(report.traffic, (text, value, title, place) => openers.number(text, value, title, network.workings.split[fullest.stage], place)),
  ]
}
