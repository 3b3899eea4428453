// What the network is: totals, inputs and outputs, settings and convention.
import { firstOf, h, table } from './dom.js'
import { exact, shape } from './numbers.js'
import { figureText, titleOf } from './names.js'

function card(network, name, value, openers) {
  const size = name.endsWith('_bytes')
  return h(
    'div',
    { class: 'card' },
    h('div', { class: 'what' }, titleOf(name)),
    openers.number(figureText(name, value), value, titleOf(name), network.workings.total, openers.place('summary', `totals.${name}`)),
    h('div', { class: 'quiet' }, `${exact(value)}${size ? ' B' : ''}`),
  )
}

const typed = (tensor) => [h('span', { class: 'mono' }, shape(tensor.shape)), ` ${tensor.dtype}`]

function tensors(kind, record) {
  return firstOf(Object.entries(record), 6, (items) => table([{ title: kind }, { title: 'Shape' }], items.map(([name, tensor]) => [name, typed(tensor)])), kind.toLowerCase())
}

export function overview(network, openers) {
  const { summary } = network
  const settings = Object.entries(network.settings)
  const facts = [
    ['Element type', summary.dtype],
    summary.checkpoint_dtype && ['Published checkpoint', [summary.checkpoint_dtype, summary.stored_as].filter(Boolean).join(', ')],
    ['Convention', [h('b', {}, summary.convention), `: ${network.counted_by}`]],
    summary.training && ['Optimizer', summary.training],
    settings.length > 0 && ['Asked for', settings.map(([name, value]) => h('code', {}, name.startsWith('--') ? `${name} ${value}` : `${name}=${value}`))],
    network.source && ['Source', network.source],
  ].filter(Boolean)
  const { params } = summary.totals
  const totals = Object.entries(summary.totals).filter(([name, value]) => value !== 0 && (name !== 'params_trainable' || value !== params))
  const remarks = [...(summary.notes ?? []), ...(summary.remarks ?? []), ...(summary.assumptions ?? [])]
  return [
    h('div', { class: 'cards' }, totals.map(([name, value]) => card(network, name, value, openers))),
    h('div', { class: 'pair' }, tensors('Inputs', summary.inputs), tensors('Outputs', summary.outputs)),
    h('dl', { class: 'facts' }, facts.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
    summary.unknown?.length > 0 && h('p', { class: 'warn' }, `Work that is not known: ${summary.unknown.join(', ')}. Totals are at least these.`),
    remarks.length > 0 && h('ul', { class: 'quiet' }, remarks.map((text) => h('li', {}, typeof text === 'string' ? text : (text.text ?? JSON.stringify(text))))),
  ]
}
