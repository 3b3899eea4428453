// Memory: what is held, the activations by layer, what is live at the peak, and caches.
import { firstOf, h, path, table } from './dom.js'
import { bytes, exact, isNumber, shape } from './numbers.js'
import { byteColumns } from './charts.js'
import { stack } from './stack.js'

function live(peak, kind, title, size) {
  const name = (item) => (item.work ? `${item.path} (${item.work})` : item.path)
  const at = (item) => ({ sections: [`activations, ${kind}`], path: name(item) })
  return h(
    'div',
    { class: 'live' },
    h('h4', {}, `${title}: `, size(`${kind}.peak`, peak.peak, title), ' at ', h('span', { class: 'mono' }, peak.at)),
    firstOf(
      peak.live,
      10,
      (items) => table([{ title: 'Live at the peak' }, { title: 'Shape' }, { title: 'Type' }, { title: 'Bytes', number: true }], items.map((item) => [h('span', { class: 'mono' }, path(name(item))), h('span', { class: 'mono' }, shape(item.shape)), item.dtype, size(at(item), item.bytes, item.path)])),
      'tensors',
    ),
  )
}

function training(report, memory, size) {
  const rows = [
    ['Gradients', report.gradients, 'training.gradients'],
    report.master ? ['Master weights', report.master, 'training.master'] : null,
    ...report.states.map((state) => [`State ${state.name}`, state.bytes, 'training.states.*.bytes', state]),
    ['Kept for the backward pass', report.kept, 'training.kept'],
  ].filter(Boolean)
  const way = [report.optimizer, report.precision, report.recompute !== 'none' && `recompute ${report.recompute}`].filter(Boolean).join(', ')
  const at = (part) => size(`training.peak.${part}`, report.peak[part], 'Peak of the step')
  return [
    h('h3', {}, `A step of training${way ? `: ${way}` : ''}`),
    table([{ title: 'Part' }, { title: 'Bytes', number: true }], rows.map(([name, value, field, item]) => [name, size(field, value, name, item)])),
    report.peak && h('p', {}, `Peak during the ${report.peak.during}, at `, h('span', { class: 'mono' }, report.peak.at), ': ', at('gradients'), ' of gradients, ', at('kept'), ' kept, ', at('temporaries'), ' of temporaries.'),
    memory.saved && firstOf(memory.saved.operations, 8, (items) => table([{ title: 'Saved for the backward pass by' }, { title: 'Tensors', number: true }, { title: 'Bytes', number: true }], items.map((item) => [item.op, exact(item.tensors), size('saved.operations.*.bytes', item.bytes, `Saved by ${item.op}`, item)])), 'operations'),
  ]
}

/** Bytes of the models that are loaded beside the network. */
function beside(models, size) {
  const kept = [...new Set(models.flatMap((model) => Object.keys(model.caches)))]
  const of = (model, field, name = '') => size(`placement.beside.*.${field}${name && `.${name}`}`, name ? model.caches[name] : model[field], `${model.role} ${model.name}`, name ? { ...model, field: name } : model)
  return table(
    [{ title: 'Beside it' }, { title: 'Weights', number: true }, { title: 'Activations', number: true }, ...kept.map((name) => ({ title: `Caches, ${name}`, number: true }))],
    models.map((model) => [`${model.role} ${model.name}`, of(model, 'weights'), model.activations === null ? 'not known' : of(model, 'activations'), ...kept.map((name) => (name in model.caches ? of(model, 'caches', name) : '–'))]),
  )
}

/** Bytes on a device and on its host, by the convention of caches. */
function placement(report, size) {
  const places = [report.device, report.host]
  const of = (place, field, value, name = '') => size(`placement.${place.name}.${field}${name ? `.${name}` : ''}`, value, `Memory of the ${place.name}`, name ? { field: name } : {})
  const rows = Object.keys(report.device.totals).map((name) => [name, ...places.flatMap((place) => [of(place, 'caches', place.caches[name], name), of(place, 'totals', place.totals[name], name)])])
  return [
    h('h3', {}, `${exact(report.gpu_layers)} of ${exact(report.layers)} layers on the device`),
    table([{ title: 'Place' }, { title: 'Weights', number: true }, { title: 'Activations', number: true }], places.map((place) => [place.name, of(place, 'weights', place.weights), of(place, 'activations', place.activations)])),
    table([{ title: 'Caches as reserved by' }, ...places.flatMap((place) => [{ title: `Caches, ${place.name}`, number: true }, { title: `In all, ${place.name}`, number: true }])], rows),
    report.beside.length > 0 && beside(report.beside, size),
  ]
}

function tokens(report, network, openers) {
  const number = (name, value) => (value === null ? 'any number' : value === -1 ? 'the weights do not fit' : openers.number(exact(value), value, `Tokens, ${name}`, network.workings.memory, openers.place('memory', `tokens_in.tokens.${name}`, { field: name })))
  return [
    h('h3', {}, `Tokens of each sequence in ${bytes(report.budget)}`),
    table([{ title: 'Caches as reserved by' }, { title: 'Tokens', number: true }], Object.entries(report.tokens).map(([name, value]) => [name, [number(name, value), report.ends[name] && `: ${report.ends[name]}`]])),
  ]
}

/** Bytes that open their working: at a field of the record, or a place. */
const sizes = (network, openers) => (field, value, title, item) =>
  openers.number(bytes(value), value, title, network.workings.memory, typeof field === 'string' ? openers.place('memory', field, item) : field)

export function memory(network, openers) {
  const report = network.memory
  const size = sizes(network, openers)
  const ideal = report.conventions.find((each) => each.name === 'ideal')
  const part = (name, value, kind, field, item) => [name, value, kind, size(field, value, name, item)]
  const held = [part('Weights', report.weights, 'weights', 'weights'), isNumber(report.buffers) && report.buffers !== 0 && part('Buffers', report.buffers, 'buffers', 'buffers')]
  const step = report.training
  const parts = [
    ...held,
    ...(step
      ? [
          step.master !== 0 && part('Master weights', step.master, 'master', 'training.master'),
          ...step.states.map((state) => part(`State ${state.name}`, state.bytes, 'states', 'training.states.*.bytes', state)),
          step.peak.gradients !== 0 && part('Gradients', step.peak.gradients, 'gradients', 'training.peak.gradients'),
          step.peak.kept !== 0 && part('Kept for the backward pass', step.peak.kept, 'kept', 'training.peak.kept'),
          step.peak.temporaries !== 0 && part('Temporaries', step.peak.temporaries, 'activations', 'training.peak.temporaries'),
        ]
      : [
          ideal && ideal.caches !== 0 && part('Caches', ideal.caches, 'caches', 'conventions.*.caches', ideal),
          report.ideal && part('Activations at the peak', report.ideal.peak, 'activations', 'ideal.peak'),
        ]),
  ].filter(Boolean)
  const total = step ? size('step', report.step, 'Step of training') : ideal && ideal.total !== null ? size('conventions.*.total', ideal.total, 'Memory', ideal) : null
  const chart = report.layers.length > 0 && report.layers.every((layer) => typeof layer.bytes === 'number')
  return [
    report.phase && h('p', {}, `Phase: ${report.phase}${report.new !== null ? `, ${exact(report.new)} new positions after ${exact(report.past)}` : ''}`),
    step && h('p', {}, 'A step of training when most is live.'),
    stack(parts, total),
    report.training && training(report.training, report, size),
    report.placement && placement(report.placement, size),
    report.tokens_in && tokens(report.tokens_in, network, openers),
    report.engine && h('p', {}, `NumPy's engine, ${report.engine.name}: `, size('engine.peak', report.engine.peak, 'Peak of the engine'), ', of which ', size('engine.weights', report.engine.weights, 'Weights of the engine'), ' are weights.'),
    h('h3', {}, step ? 'Activations of a forward pass, by layer' : 'Activations by layer'),
    chart ? byteColumns('Live bytes by layer', report.layers.map((layer) => ({ label: layer.repeat > 1 ? `${layer.path} ×${layer.repeat}` : layer.path, value: layer.bytes, open: () => openers.panel.open(`Live in ${layer.path}`, network.workings.memory, openers.place('memory', 'layers.*.bytes', layer), layer.bytes) }))) : h('p', { class: 'quiet' }, 'The bytes of symbolic sizes have no number.'),
    h('div', { class: 'pair' }, report.ideal && live(report.ideal, 'ideal', 'Ideal execution', size), report.eager && live(report.eager, 'eager', 'Eager execution', size)),
    report.notes?.length > 0 && h('ul', { class: 'quiet' }, report.notes.map((note) => h('li', {}, note))),
  ]
}

/** The place of a cache, which is in the working with those of other layers. */
const ONE = { sections: ['caches and states, ideal'], together: true }

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

export function caches(network, openers) {
  const report = network.memory
  const size = sizes(network, openers)
  return [
    h('p', {}, 'A further token takes ', size('token_bytes', report.token_bytes, 'Caches of a token'), '.'),
    table(
      [{ title: 'Memory as reserved by' }, { title: 'Caches', number: true }, { title: 'With weights and activations', number: true }, { title: 'How', prose: true }],
      report.conventions.map((each) => [
        each.name,
        size('conventions.*.caches', each.caches, `Caches, ${each.name}`, each),
        each.total === null ? '–' : size('conventions.*.total', each.total, `Memory, ${each.name}`, each),
        each.about,
      ]),
    ),
    firstOf(
      alike(report.kept),
      12,
      (items) =>
        table(
          [{ title: 'Cache or state' }, { title: 'Holds' }, { title: 'Cell' }, { title: 'Positions', number: true }, { title: 'Bytes of one, ideal', number: true }, { title: '×', number: true }],
          items.map(([item, ...others]) => [h('span', { class: 'mono' }, others.length ? `${item.name} … ${others.at(-1).name}` : item.name), item.kind, h('span', { class: 'mono' }, `${shape(item.cell)} ${item.dtype}`), exact(item.positions), size(ONE, item.bytes.ideal, `Cache ${item.name}`), others.length ? `×${exact(others.length + 1)}` : '']),
        ),
      'caches',
    ),
  ]
}
