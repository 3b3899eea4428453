// Two networks side by side: totals, operations and layers that differ.
import { firstOf, h, table } from './dom.js'
import { elements, exact, isNumber, measured, short } from './numbers.js'
import { figureText, SECTIONS, titleOf } from './names.js'
import { opener } from './working.js'

const ratio = (value) => (typeof value === 'number' ? `×${measured(value)}` : '–')
const signed = (value, draw) => (isNumber(value) && Number(value) > 0 ? `+${draw(value)}` : draw(value))

export function compare(page, open) {
  const { comparison, networks } = page
  const titles = networks.map((network) => network.title)
  const columns = [...titles.map((title) => ({ title, number: true })), { title: 'Difference', number: true }, { title: 'Ratio', number: true }]
  const totals = Object.entries(comparison.totals).map(([name, { values, difference, ratio: ratios }]) => {
    const draw = (value) => figureText(name, value)
    return [
      titleOf(name),
      ...values.map((value, place) => opener(draw(value), () => open(`${titleOf(name)} of ${titles[place]}`, networks[place].workings.total, SECTIONS[name]), exact(value))),
      signed(difference[0], draw),
      ratio(ratios[0]),
    ]
  })
  const operations = comparison.operations.map((each) => [
    each.op,
    ...each.executions.values.map(exact),
    ...each.params.values.map(elements),
    ...each.macs.values.map((value) => short(value)),
  ])
  const pairs = (name) => titles.map((title) => ({ title: `${name}, ${title}`, number: true }))
  const layer = (match) => {
    const [before, after] = match.layers
    const figure = (each, name) => (each ? figureText(name, each[name]) : '–')
    return [
      h('span', { class: 'mono' }, match.repeat > 1 ? `${match.path} ×${match.repeat}` : match.path),
      before && after ? (before.op === after.op ? before.op : `${before.op} → ${after.op}`) : before ? `${before.op}, only in ${titles[0]}` : `${after.op}, only in ${titles[1]}`,
      figure(before, 'params'),
      figure(after, 'params'),
      figure(before, 'macs'),
      figure(after, 'macs'),
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
