// Signals at initialization.
import { h, path, table } from './dom.js'
import { exact, measured, shape } from './numbers.js'
import { depthLines } from './charts.js'

const lines = (layers, name, title) => [
  { name: `${title}, measured`, kind: 'measured', points: layers.map((layer, place) => [place, layer.measured?.[name], layer.path]) },
  { name: `${title}, predicted`, kind: 'predicted', points: layers.map((layer, place) => [place, layer.predicted?.[name], layer.path]) },
]

export function signal(network, openers) {
  const report = network.signal
  const figures = ['variance', 'gradient']
  const figure = (layer, place, name, kind) => {
    const value = layer[kind]?.[name]
    return openers.number(measured(value), value, `${name}, ${kind}: ${layer.path}`, network.workings.signals[place], { sections: [`${name}, ${kind}`] })
  }
  return [
    h('ul', { class: 'findings' }, report.findings.map((finding) => h('li', { class: finding.kind === 'steady' ? 'good' : 'warn' }, h('b', {}, finding.kind), `: ${finding.text}`, finding.why && `. ${finding.why}`, finding.help && ` ${finding.help}`))),
    h('p', { class: 'quiet' }, `Means over ${exact(report.seeds.length)} seeds, ${report.training ? 'in training mode' : 'in evaluation mode'}.`),
    h('h3', {}, 'Variance of the activations'),
    depthLines('Variance of the activations by layer', lines(report.layers, 'variance', 'variance')),
    h('h3', {}, 'Norm of the gradients'),
    depthLines('Norm of the gradients by layer', lines(report.layers, 'gradient', 'gradient')) ?? h('p', { class: 'quiet' }, report.no_gradients || 'no gradients'),
    table(
      [{ title: 'Layer' }, { title: 'Operation' }, { title: 'Shape' }, ...figures.flatMap((name) => [{ title: `${name}, measured`, number: true }, { title: 'predicted', number: true }])],
      report.layers.map((layer, place) => [h('span', { class: 'mono' }, path(layer.path)), layer.op, h('span', { class: 'mono' }, shape(layer.shape)), ...figures.flatMap((name) => [figure(layer, place, name, 'measured'), figure(layer, place, name, 'predicted')])]),
      { tall: report.layers.length > 24 },
    ),
  ]
}
