// The bound of the time on a device, with the roofline.
import { h, table } from './dom.js'
import { bytes, exact, measured, percent, seconds, short } from './numbers.js'
import { roofline } from './charts.js'

function row(layer, network, openers) {
  const item = { ...layer, path: layer.title }
  const of = (what, text, field, value) => openers.number(text, value, `${what} of ${layer.title}`, network.workings.times[layer.path], typeof field === 'string' ? openers.place('time', `layers.*.${field}`, item) : field)
  return [
    h('span', { class: 'mono' }, layer.title),
    layer.op,
    layer.repeat > 1 ? `×${exact(layer.repeat)}` : '',
    of('FLOPs', short(layer.flops), 'flops', layer.flops),
    of('Bytes', `${bytes(layer.read)} + ${bytes(layer.written)}`, { sections: [layer.title, `${layer.title} ×*`], steps: 'bytes' }, `${exact(layer.read)} + ${exact(layer.written)}`),
    of('Time', seconds(layer.seconds), 'seconds', layer.seconds),
    layer.limit,
  ]
}

export function time(network, openers) {
  const report = network.time
  const count = report.devices
  const of = (text, value, title, field) => openers.number(text, value, title, network.workings.time, typeof field === 'string' ? openers.place('time', field) : field)
  const rated = (text, value, name) => of(text, value, `${name} of ${report.device.title}`, { sections: [`${name} of ${report.device.title}`] })
  const points = report.layers.map((layer) => ({ x: layer.intensity, y: layer.seconds > 0 ? layer.flops / layer.seconds : 0, kind: layer.limit, label: `${layer.title}: ${seconds(layer.seconds)}, ${layer.limit}` }))
  const rate = report.tokens_per_second === null || report.tokens_per_second === undefined ? null : `${measured(Math.round(report.tokens_per_second))} tokens/s`
  return [
    h(
      'div',
      { class: 'cards' },
      h('div', { class: 'card' }, h('div', { class: 'what' }, 'At least'), of(seconds(report.seconds), report.seconds, 'Bound of the time', 'seconds'), h('div', { class: 'quiet' }, `bound by ${report.limit}`)),
      h('div', { class: 'card' }, h('div', { class: 'what' }, 'Device'), h('strong', {}, `${count > 1 ? `${exact(count)} × ` : ''}${report.device.title}`), h('div', { class: 'quiet' }, rated(short(report.peak.flops, 'FLOP/s'), report.peak.flops, 'peak'), ` in ${report.peak.dtype}, `, rated(short(report.device.bandwidth, 'B/s'), report.device.bandwidth, 'bandwidth'))),
      h('div', { class: 'card' }, h('div', { class: 'what' }, 'Utilization at this bound'), report.mfu === null ? h('strong', {}, '–') : of(percent(report.mfu), report.mfu, 'MFU', 'mfu'), h('div', { class: 'quiet' }, rate === null ? 'of the peak' : of(rate, report.tokens_per_second, 'Tokens a second', 'tokens_per_second'))),
    ),
    roofline('Roofline', points, { peak: report.peak.flops * count, bandwidth: report.device.bandwidth * count }),
    h('p', { class: 'quiet' }, h('span', { class: 'key compute' }), 'bound by arithmetic ', h('span', { class: 'key memory' }), 'bound by memory'),
    table([{ title: 'Layer' }, { title: 'Operation' }, { title: '×', number: true }, { title: 'FLOPs', number: true }, { title: 'Read + written', number: true }, { title: 'Time', number: true }, { title: 'Bound by' }], report.layers.map((layer) => row(layer, network, openers)), { tall: report.layers.length > 24 }),
    h('ul', { class: 'quiet' }, [...report.assumptions, ...report.notes].map((text) => h('li', {}, text))),
  ]
}
