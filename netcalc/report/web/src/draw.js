// The picture of a layout as SVG.
import { layout } from './layout.js'
import { LINE_HEIGHT, TEXT_SIZE } from './labels.js'
import { escaped, shapeText } from './text.js'

const FONT = 'system-ui,-apple-system,"Segoe UI","Liberation Sans",Arial,"DejaVu Sans",sans-serif'
/** Fill and border by kind: on a light and on a dark background. */
const COLORS = {
  input: ['#f1f5f9', '#64748b', '#1e293b', '#94a3b8'],
  output: ['#f1f5f9', '#64748b', '#1e293b', '#94a3b8'],
  block: ['#ffffff', '#334155', '#0f172a', '#cbd5e1'],
  convolution: ['#dbeafe', '#2563eb', '#172554', '#60a5fa'],
  product: ['#e0e7ff', '#4f46e5', '#1e1b4b', '#818cf8'],
  attention: ['#fce7f3', '#db2777', '#500724', '#f472b6'],
  recurrence: ['#fae8ff', '#a21caf', '#4a044e', '#e879f9'],
  normalization: ['#dcfce7', '#16a34a', '#052e16', '#4ade80'],
  activation: ['#fef3c7', '#d97706', '#451a03', '#fbbf24'],
  pooling: ['#cffafe', '#0891b2', '#083344', '#22d3ee'],
  embedding: ['#ede9fe', '#7c3aed', '#2e1065', '#a78bfa'],
  arithmetic: ['#ffe4e6', '#e11d48', '#4c0519', '#fb7185'],
  movement: ['#f5f5f4', '#78716c', '#292524', '#a8a29e'],
  parameter: ['#ecfccb', '#65a30d', '#1a2e05', '#a3e635'],
  loss: ['#fee2e2', '#dc2626', '#450a0a', '#f87171'],
  other: ['#f5f5f4', '#44403c', '#1c1917', '#d6d3d1'],
}

const kinds = (place) =>
  Object.entries(COLORS).map(([kind, colors]) => `.netcalc-graph .k-${kind}>rect{fill:${colors[place]};stroke:${colors[place + 1]}}`).join('')

const mode = (back, ink, quiet, group, border) =>
  `.netcalc-graph .back{fill:${back}}.netcalc-graph text{fill:${ink}}.netcalc-graph .quiet{fill:${quiet}}` +
  `.netcalc-graph .group>rect{fill:${group};stroke:${border}}.netcalc-graph .line{stroke:${quiet}}.netcalc-graph .tip{fill:${quiet}}`

const LIGHT = mode('#ffffff', '#0f172a', '#475569', '#64748b', '#94a3b8') + kinds(0)
const DARK = mode('#0b1120', '#f1f5f9', '#a8b3c4', '#94a3b8', '#64748b') + kinds(2)

/** Rules of a picture; with `dark` those of a dark page, else by the reader's setting. */
export function style({ dark } = {}) {
  const rules =
    `.netcalc-graph text{font-family:${FONT};white-space:pre}.netcalc-graph .group>rect{fill-opacity:.07;stroke-dasharray:5 4}` +
    '.netcalc-graph .line{fill:none;stroke-width:1.3}.netcalc-graph .returns{stroke-dasharray:4 3}'
  if (dark === true) return rules + DARK
  if (dark === false) return rules + LIGHT
  return `${rules}${LIGHT}@media (prefers-color-scheme:dark){${DARK}}`
}

const number = (value) => String(Math.round(value * 100) / 100)

/** A line that runs straight through ranks and bends between them. */
function curve(points, across) {
  let path = `M${number(points[0][0])} ${number(points[0][1])}`
  for (let place = 1; place < points.length; place += 1) {
    const [x0, y0] = points[place - 1]
    const [x, y] = points[place]
    if (x === x0 || y === y0) path += `L${number(x)} ${number(y)}`
    else if (across) path += `C${number((x0 + x) / 2)} ${number(y0)} ${number((x0 + x) / 2)} ${number(y)} ${number(x)} ${number(y)}`
    else path += `C${number(x0)} ${number((y0 + y) / 2)} ${number(x)} ${number((y0 + y) / 2)} ${number(x)} ${number(y)}`
  }
  return path
}

function tip(points) {
  const [x, y] = points.at(-1)
  const [x0, y0] = points.at(-2)
  const length = Math.hypot(x - x0, y - y0) || 1
  const [ux, uy] = [(x - x0) / length, (y - y0) / length]
  const corner = (side) => `${number(x - 7 * ux - side * 3.5 * uy)} ${number(y - 7 * uy + side * 3.5 * ux)}`
  return `<path class="tip" d="M${number(x)} ${number(y)}L${corner(1)}L${corner(-1)}Z"/>`
}

function textAt(line, x, y, anchor, marked = false) {
  const weight = line.bold ? ' font-weight="600"' : ''
  const quiet = line.bold ? '' : ` class="quiet${marked && line.figures ? ' figures' : ''}"`
  return `<text x="${number(x)}" y="${number(y)}" font-size="${line.size}"${weight}${quiet} text-anchor="${anchor}">${escaped(line.text)}</text>`
}

function drawnNode(node, marked) {
  const top = node.y + (node.height - node.lines.length * LINE_HEIGHT) / 2
  const radius = ['input', 'output'].includes(node.kind) ? node.height / 2 : 6
  const lines = node.lines.map((line, row) => textAt(line, node.x + node.width / 2, top + row * LINE_HEIGHT + 12, 'middle', marked))
  const width = node.kind === 'block' ? 1.6 : 1.1
  return (
    `<g class="node k-${node.kind}" data-id="${escaped(node.id)}"><title>${escaped(`${node.path}: ${node.op}`)}</title>` +
    `<rect x="${number(node.x)}" y="${number(node.y)}" width="${number(node.width)}" height="${number(node.height)}" rx="${number(radius)}" stroke-width="${width}"/>` +
    `${lines.join('')}</g>`
  )
}

function drawnGroup(group, marked) {
  const texts = group.texts.map((text) =>
    textAt(text, text.anchor === 'start' ? text.x : text.x + text.width, text.y + 12, text.anchor, marked),
  )
  return (
    `<g class="group" data-id="${escaped(group.id)}"><title>${escaped(`${group.path}: ${group.op}`)}</title>` +
    `<rect x="${number(group.x)}" y="${number(group.y)}" width="${number(group.width)}" height="${number(group.height)}" rx="8"/>` +
    `${texts.join('')}</g>`
  )
}

function drawnEdge(edge, graph, across) {
  const [first] = edge.of
  const { shape, dtype } = graph.edges[first]
  const title = `${shapeText(shape, '')} ${dtype}`
  const returns = edge.back ? ' returns' : ''
  const of = edge.of.join(' ')
  return `<g class="edge" data-of="${of}"><title>${escaped(title)}</title><path class="line${returns}" d="${curve(edge.points, across)}"/>${edge.arrow ? tip(edge.points) : ''}</g>`
}

function drawnLabel({ label, of }, marked) {
  const { x, y, width, height } = label
  const line = { text: label.text, size: TEXT_SIZE, bold: false }
  return (
    `<g class="label"${marked ? ` data-edge="${of[0]}"` : ''}><rect class="back" x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}" rx="3"/>` +
    `${textAt(line, x + width / 2, y + height / 2 + 4, 'middle')}</g>`
  )
}

/**
 * The picture of a graph as the text of an SVG element.
 *
 * options: those of layout, and dark (true or false; by default the reader's setting), background (false for none), title, and
 * marked (true for a class `figures` at the figures of boxes and a place in `edges` at shapes, which a page makes something to
 * press).
 */
export function draw(graph, options = {}) {
  const placed = options.layout ?? layout(graph, options)
  const across = placed.direction === 'LR'
  const { width, height } = placed
  const back = options.background === false ? '' : `<rect class="back" width="${number(width)}" height="${number(height)}"/>`
  const title = options.title ?? graph.spec
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" class="netcalc-graph" role="img" width="${number(width)}" height="${number(height)}" viewBox="0 0 ${number(width)} ${number(height)}">` +
    `<title>${escaped(title)}</title><style>${style(options)}</style>${back}` +
    placed.groups.map((group) => drawnGroup(group, options.marked)).join('') +
    placed.edges.map((edge) => drawnEdge(edge, graph, across)).join('') +
    placed.edges.filter((edge) => edge.label).map((edge) => drawnLabel(edge, options.marked)).join('') +
    placed.nodes.map((node) => drawnNode(node, options.marked)).join('') +
    '</svg>'
  )
}
