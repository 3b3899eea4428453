// The bound of the time on a device, with the roofline.
import { h, path, table } from './dom.js'
import { bytes, elements, exact, measured, percent, seconds, short } from './numbers.js'
import { roofline } from './charts.js'
import { traffic } from './split.js'

function row(layer, network, openers) {
  const item = { ...layer, path: layer.title }
  const of = (what, text, field, value) => openers.number(text, value, `${what} of ${layer.title}`, network.workings.times[layer.path], typeof field === 'string' ? openers.place('time', `layers.*.${field}`, item) : field)
  return [
    h('span', { class: 'mono' }, path(layer.title)),
    layer.op,
    layer.repeat > 1 ? `×${exact(layer.repeat)}` : '',
    of('FLOPs', short(layer.flops), 'flops', layer.flops),
    of('Bytes', `${bytes(layer.read)} + ${bytes(layer.written)}`, { sections: [layer.title, `${layer.title} ×*`], steps: 'bytes' }, `${exact(layer.read)} + ${exact(layer.written)}`),
    of('Time', seconds(layer.seconds), 'seconds', layer.seconds),
    layer.limit,
  ]
}

/** A whole training. */
function run(report, of) {
  const figure = (field, text) => of(text, report[field], 'A whole training', `run.${field}`)
  const rows = [
    ['FLOPs', figure('flops', short(report.flops))],
    ['FLOPs in days at a PFLOP/s', figure('pf_days', measured(report.pf_days))],
    [report.efficiency === null ? 'Days at the bound' : `Days at ${percent(report.efficiency)} of the peak`, figure('days', measured(report.days))],
    report.energy_kwh !== null && ['Energy at full power, kWh', figure('energy_kwh', measured(report.energy_kwh))],
  ].filter(Boolean)
  return [h('h3', {}, `A whole training on ${elements(report.tokens)} tokens`), table([{ title: 'Figure' }, { title: 'Value', number: true }], rows)]
}

/** The part of a bound that follows from the split: work of the slowest stage, and what its device sends. */
function split(report, of) {
  const place = { sections: ['step'] }
  const rows = [
    [`Work of a device of stage ${exact(report.stage)}`, report.work],
    report.fill > 0 && ['It waits for other stages', report.fill],
    report.sending !== null && ['It sends, beside its work', report.sending],
  ].filter(Boolean)
  return [
    h('h3', {}, 'A step on the devices of the split'),
    table([{ title: 'At least' }, { title: 'Time', number: true }], rows.map(([name, value]) => [name, of(seconds(value), value, name, place)])),
    report.traffic.length > 0 && traffic(report.traffic, of),
    report.bubble > 0 && h('p', { class: 'quiet' }, `Bubble of the pipeline: ${measured(report.bubble)} of the time of its work.`),
  ]
}

export function time(network, openers) {
  const report = network.time
  const count = report.devices
  const of = (text, value, title, field) => openers.number(text, value, title, network.workings.time, typeof field === 'string' ? openers.place('time', field) : field)
  const rated = (text, value, place) => of(text, value, report.device.title, place)
  const place = { sections: [`peak of ${report.device.title}`] }
  const points = report.layers.map((layer) => ({
    x: layer.intensity,
    y: layer.rate,
    kind: layer.limit,
    label: `${layer.title}: ${seconds(layer.seconds)}, ${layer.limit}`,
    open: () => openers.panel.open(`Time of ${layer.title}`, network.workings.times[layer.path], openers.place('time', 'layers.*.seconds', { ...layer, path: layer.title })),
  }))
  const rate = report.tokens_per_second === null || report.tokens_per_second === undefined ? null : `${measured(Math.round(report.tokens_per_second))} tokens/s`
  const card = (what, number, ...about) => h('div', { class: 'card' }, h('div', { class: 'what' }, what), number, h('div', { class: 'quiet' }, about))
  const device = report.device
  return [
    h(
      'div',
      { class: 'cards' },
      card('At least', of(seconds(report.seconds), report.seconds, 'Bound of the time', 'seconds'), `bound by ${report.limit}`),
      report.estimated_seconds !== null && card(`At ${percent(report.efficiency)} of the peak`, of(seconds(report.estimated_seconds), report.estimated_seconds, 'Time at the efficiency', 'estimated_seconds'), 'as asked for, and at least the bound'),
      card(
        'Device',
        h('strong', {}, `${count > 1 ? `${exact(count)} × ` : ''}${device.title}`),
        device.peaks[report.peak.dtype] !== undefined && [rated(short(device.peaks[report.peak.dtype], 'FLOP/s'), device.peaks[report.peak.dtype], place), ` in ${report.peak.dtype}, `],
        rated(short(device.bandwidth, 'B/s'), device.bandwidth, { sections: [`bandwidth of ${device.title}`] }),
        count > 1 && ', of one',
      ),
      card('Utilization at this bound', report.mfu === null ? h('strong', {}, '–') : of(percent(report.mfu), report.mfu, 'MFU', 'mfu'), rate === null ? 'of the peak' : of(rate, report.tokens_per_second, 'Tokens a second', 'tokens_per_second')),
    ),
    report.run && run(report.run, of),
    report.split && split(report.split, of),
    roofline(report.split ? 'Roofline of a device' : 'Roofline', points, report.roofline),
    h('p', { class: 'quiet' }, h('span', { class: 'key compute' }), 'bound by arithmetic ', h('span', { class: 'key memory' }), 'bound by memory', report.split && [' ', h('span', { class: 'key network' }), 'bound by what is sent']),
    table([{ title: 'Layer' }, { title: 'Operation' }, { title: '×', number: true }, { title: 'FLOPs', number: true }, { title: 'Read + written', number: true }, { title: 'Time', number: true }, { title: 'Bound by' }], report.layers.map((layer) => row(layer, network, openers)), { tall: report.layers.length > 24 }),
    h('ul', { class: 'quiet' }, [...report.assumptions, ...report.notes].map((text) => h('li', {}, text))),
  ]
}
