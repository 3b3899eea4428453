// Memory: what is held, the activations by layer, what is live at the peak, and caches.
import { firstOf, h, table } from './dom.js'
import { bytes, exact, isNumber, shape } from './numbers.js'
import { byteColumns } from './charts.js'
import { opener } from './working.js'

function stack(parts, total) {
  const known = parts.filter(([, value]) => typeof value === 'number' && value > 0)
  return h(
    'div',
    { class: 'stack' },
    h('div', { class: 'stackbar', 'aria-hidden': 'true' }, known.map(([, value, kind]) => h('span', { class: kind, style: { 'flex-grow': String(value) } }))),
    h(
      'ul',
      { class: 'legend' },
      parts.map(([name, value, kind, open]) => h('li', {}, h('span', { class: `key ${kind}`, 'aria-hidden': 'true' }), `${name} `, open ? opener(bytes(value), open, exact(value)) : bytes(value))),
      total && h('li', { class: 'total' }, 'In all ', opener(bytes(total[0]), total[1], exact(total[0]))),
    ),
  )
}

function live(peak, name, open) {
  return h(
    'div',
    { class: 'live' },
    h('h4', {}, `${name}: `, opener(bytes(peak.peak), () => open(`Activations, ${name.toLowerCase()}`, [`activations, ${name.split(' ')[0].toLowerCase()}`]), exact(peak.peak)), ' at ', h('span', { class: 'mono' }, peak.at)),
    firstOf(
      peak.live,
      10,
      (items) => table([{ title: 'Live at the peak' }, { title: 'Shape' }, { title: 'Type' }, { title: 'Bytes', number: true }], items.map((item) => [h('span', { class: 'mono' }, item.work ? `${item.path} (${item.work})` : item.path), h('span', { class: 'mono' }, shape(item.shape)), item.dtype, bytes(item.bytes)])),
      'tensors',
    ),
  )
}

function training(report, memory, open) {
  const rows = [
    ['Gradients', report.gradients],
    report.master ? ['Master weights', report.master] : null,
    ...report.states.map((state) => [`State ${state.name}`, state.bytes]),
    ['Kept for the backward pass', report.kept],
  ].filter(Boolean)
  const way = [report.optimizer, report.precision, report.recompute !== 'none' && `recompute ${report.recompute}`].filter(Boolean).join(', ')
  return [
    h('h3', {}, `A step of training${way ? `: ${way}` : ''}`),
    table([{ title: 'Part' }, { title: 'Bytes', number: true }], rows.map(([name, value]) => [name, bytes(value)])),
    report.peak && h('p', {}, `Peak during the ${report.peak.during}, at `, h('span', { class: 'mono' }, report.peak.at), `: ${bytes(report.peak.gradients)} of gradients, ${bytes(report.peak.kept)} kept, ${bytes(report.peak.temporaries)} of temporaries.`),
    memory.saved && firstOf(memory.saved.operations, 8, (items) => table([{ title: 'Saved for the backward pass by' }, { title: 'Tensors', number: true }, { title: 'Bytes', number: true }], items.map((item) => [item.op, exact(item.tensors), bytes(item.bytes)])), 'operations'),
  ]
}

export function memory(network, openWorking) {
  const report = network.memory
  const open = (title, sections) => openWorking(title, network.workings.memory, sections)
  const ideal = report.conventions.find((each) => each.name === 'ideal')
  const parts = [
    ['Weights', report.weights, 'weights', () => open('Weights', report.stored.map((each) => `weights, ${each.scheme}`))],
    isNumber(report.buffers) && report.buffers !== 0 && ['Buffers', report.buffers, 'buffers', () => open('Buffers', ['buffers'])],
    ideal && ideal.caches !== 0 && ['Caches', ideal.caches, 'caches', () => open('Caches', ['caches and states, ideal'])],
    report.ideal && ['Activations at the peak', report.ideal.peak, 'activations', () => open('Activations', ['activations, ideal'])],
  ].filter(Boolean)
  const chart = report.layers.length > 0 && report.layers.every((layer) => typeof layer.bytes === 'number')
  return [
    report.phase && h('p', {}, `Phase: ${report.phase}${report.new !== null ? `, ${exact(report.new)} new positions after ${exact(report.past)}` : ''}`),
    stack(parts, ideal && ideal.total !== null ? [ideal.total, () => open('Memory', ['total'])] : null),
    h('h3', {}, 'Activations by layer'),
    chart ? byteColumns('Live bytes by layer', report.layers.map((layer) => ({ label: layer.repeat > 1 ? `${layer.path} ×${layer.repeat}` : layer.path, value: layer.bytes }))) : h('p', { class: 'quiet' }, 'The bytes of symbolic sizes have no number.'),
    h('div', { class: 'pair' }, report.ideal && live(report.ideal, 'Ideal execution', open), report.eager && live(report.eager, 'Eager execution', open)),
    report.training && training(report.training, report, open),
    report.notes?.length > 0 && h('ul', { class: 'quiet' }, report.notes.map((note) => h('li', {}, note))),
  ]
}

/** Caches that differ by their layer alone, as one with their number. */
function alike(kept) {
  const groups = new Map()
  for (const item of kept) {
    const key = JSON.stringify([item.name.replace(/\d+/, '#'), item.kind, item.cell, item.dtype, item.positions, item.bytes])
    if (!groups.has(key)) groups.set(key, [])
    groups.get(key).push(item)
  }
  return [...groups.values()]
}

export function caches(network, openWorking) {
  const report = network.memory
  const open = (name) => openWorking(`Caches, ${name}`, network.workings.memory, [`caches and states, ${name}`])
  return [
    h('p', {}, `A further token takes ${bytes(report.token_bytes)}.`),
    table(
      [{ title: 'Memory as reserved by' }, { title: 'Caches', number: true }, { title: 'With weights and activations', number: true }, { title: 'How', prose: true }],
      report.conventions.map((each) => [each.name, opener(bytes(each.caches), () => open(each.name), exact(each.caches)), bytes(each.total), each.about]),
    ),
    firstOf(
      alike(report.kept),
      12,
      (items) =>
        table(
          [{ title: 'Cache or state' }, { title: 'Holds' }, { title: 'Cell' }, { title: 'Positions', number: true }, { title: 'Bytes of one, ideal', number: true }, { title: '×', number: true }],
          items.map(([item, ...others]) => [h('span', { class: 'mono' }, others.length ? `${item.name} … ${others.at(-1).name}` : item.name), item.kind, h('span', { class: 'mono' }, `${shape(item.cell)} ${item.dtype}`), exact(item.positions), bytes(item.bytes.ideal), others.length ? `×${exact(others.length + 1)}` : '']),
        ),
      'caches',
    ),
  ]
}
