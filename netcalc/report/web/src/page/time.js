// The bound of the time on a device, with the roofline.
import { h, table } from './dom.js'
import { bytes, exact, measured, percent, seconds, short } from './numbers.js'
import { roofline } from './charts.js'
import { opener } from './working.js'

function row(layer, network, open) {
  const working = network.workings.times[layer.path]
  const text = seconds(layer.seconds)
  return [
    h('span', { class: 'mono' }, layer.title),
    layer.op,
    layer.repeat > 1 ? `×${exact(layer.repeat)}` : '',
    short(layer.flops),
    `${bytes(layer.read)} + ${bytes(layer.written)}`,
    working ? opener(text, () => open(`Time of ${layer.title}`, working, [layer.title, layer.path])) : text,
    layer.limit,
  ]
}

export function time(network, open) {
  const report = network.time
  const count = report.devices
  const points = report.layers.map((layer) => ({ x: layer.intensity, y: layer.seconds > 0 ? layer.flops / layer.seconds : 0, kind: layer.limit, label: `${layer.title}: ${seconds(layer.seconds)}, ${layer.limit}` }))
  const rate = report.tokens_per_second === null || report.tokens_per_second === undefined ? null : `${measured(Math.round(report.tokens_per_second))} tokens/s`
  return [
    h(
      'div',
      { class: 'cards' },
      h('div', { class: 'card' }, h('div', { class: 'what' }, 'At least'), opener(seconds(report.seconds), () => open('Bound of the time', network.workings.time, ['total', 'all'])), h('div', { class: 'quiet' }, `bound by ${report.limit}`)),
      h('div', { class: 'card' }, h('div', { class: 'what' }, 'Device'), h('strong', {}, `${count > 1 ? `${exact(count)} × ` : ''}${report.device.title}`), h('div', { class: 'quiet' }, `${short(report.peak.flops, 'FLOP/s')} in ${report.peak.dtype}, ${short(report.device.bandwidth, 'B/s')}`)),
      h('div', { class: 'card' }, h('div', { class: 'what' }, 'Utilization at this bound'), h('strong', {}, percent(report.mfu)), h('div', { class: 'quiet' }, rate ?? 'of the peak')),
    ),
    roofline('Roofline', points, { peak: report.peak.flops * count, bandwidth: report.device.bandwidth * count }),
    h('p', { class: 'quiet' }, h('span', { class: 'key compute' }), 'bound by arithmetic ', h('span', { class: 'key memory' }), 'bound by memory'),
    table([{ title: 'Layer' }, { title: 'Operation' }, { title: '×', number: true }, { title: 'FLOPs', number: true }, { title: 'Read + written', number: true }, { title: 'Time', number: true }, { title: 'Bound by' }], report.layers.map((layer) => row(layer, network, open)), { tall: report.layers.length > 24 }),
    h('ul', { class: 'quiet' }, [...report.assumptions, ...report.notes].map((text) => h('li', {}, text))),
  ]
}
