// Two networks side by side: totals, operations and layers that differ.
import { firstOf, h, path, table } from './dom.js'
import { elements, exact, isNumber, measured, short } from './numbers.js'
import { figureText, titleOf } from './names.js'
import { derived } from './working.js'

const ratioText = (value) => (typeof value === 'number' ? `×${measured(value)}` : '–')
const signed = (value, draw) => (isNumber(value) && Number(value) > 0 ? `+${draw(value)}` : draw(value))

export function compare(page, openers) {
  const { comparison, networks } = page
  const titles = networks.map((network) => network.title)
  const columns = [...titles.map((title) => ({ title, number: true })), { title: 'Difference', number: true }, { title: 'Ratio', number: true }]
  const totals = Object.entries(comparison.totals).map(([name, { values, difference, ratio: ratios }]) => {
    const draw = (value) => figureText(name, value)
    const [before, after] = values.map(exact)
    const given = titles.map((each, place) => [each, values[place]])
    const relation = (what, value, text, step, substituted) =>
      openers.number(text, value, `${what}: ${titleOf(name)}`, derived(`${titleOf(name)} of both networks.`, ...given, [step, value, substituted]))
    return [
      titleOf(name),
      ...values.map((value, place) => openers.number(draw(value), value, `${titleOf(name)} of ${titles[place]}`, networks[place].workings.total, openers.place('summary', `totals.${name}`))),
      relation('Difference', difference[0], signed(difference[0], draw), 'second - first', `${after} - ${before}`),
      ratios[0] === null ? '–' : relation('Ratio', ratios[0], ratioText(ratios[0]), 'second / first', `${after} / ${before}`),
    ]
  })
  const operation = (op, what, section, draw) => (value, place) => {
    const working = networks[place].workings.operations[op]
    return openers.number(draw(value), value, `${what}, ${op}: ${titles[place]}`, working, { sections: [section] })
  }
  const operations = comparison.operations.map((each) => [
    each.op,
    ...each.executions.values.map(operation(each.op, 'Executions', 'executions', exact)),
    ...each.params.values.map(operation(each.op, 'Parameters', 'parameters', elements)),
    ...each.macs.values.map(operation(each.op, 'MACs', 'MACs', short)),
  ])
  const pairs = (name) => titles.map((title) => ({ title: `${name}, ${title}`, number: true }))
  const layer = (match) => {
    const [before, after] = match.layers
    const figure = (each, place, name) => {
      if (!each) return '–'
      const working = networks[place].workings.layers[match.path]
      // a block that one network alone has is matched as a whole, with sums of its layers
      const isLayer = working && Object.keys(working.attributes).length > 0
      const at = isLayer ? `layers.*.${name}` : `totals.${name}`
      return openers.number(figureText(name, each[name]), each[name], `${match.path}: ${titles[place]}`, working, openers.place('summary', at, { path: match.path }))
    }
    return [
      h('span', { class: 'mono' }, path(match.repeat > 1 ? `${match.path} ×${match.repeat}` : match.path)),
      before && after ? (before.op === after.op ? before.op : `${before.op} → ${after.op}`) : before ? `${before.op}, only in ${titles[0]}` : `${after.op}, only in ${titles[1]}`,
      figure(before, 0, 'params'),
      figure(after, 1, 'params'),
      figure(before, 0, 'macs'),
      figure(after, 1, 'macs'),
    ]
  }
  return [
    comparison.same && h('p', { class: 'good' }, 'Both networks are the same.'),
    table([{ title: 'Total' }, ...columns], totals),
    operations.length > 0 && [h('h3', {}, 'Operations that differ'), table([{ title: 'Operation' }, ...pairs('Executions'), ...pairs('Parameters'), ...pairs('MACs')], operations)],
    comparison.layers.length > 0 && [
      h('h3', {}, 'Layers that differ'),
      firstOf(comparison.layers, 40, (items) => table([{ title: 'Layer' }, { title: 'Operation' }, ...pairs('Parameters'), ...pairs('MACs')], items.map(layer)), 'layers'),
    ],
  ]
}
