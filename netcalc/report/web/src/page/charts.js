// Charts: columns over layers, and points or lines on logarithmic axes.
import { h, s } from './dom.js'
import { bytes, mark, measured, short } from './numbers.js'

const WIDTH = 960
const HEIGHT = 300
const LEFT = 78
const RIGHT = 16
const TOP = 26
const BOTTOM = 40

const picture = (label, ...children) =>
  h('div', { class: 'scroll chartbox', tabindex: '0', role: 'region', 'aria-label': label }, s('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'chart', role: 'img', 'aria-label': label }, ...children))

const textAt = (x, y, anchor, text, className = null) => s('text', { x, y, 'text-anchor': anchor, class: className }, text)

/**
 * Bytes by layer as columns, the peak marked by name.
 *
 * columns: { label, value, open }; values are numbers, `open` shows the working.
 */
export function byteColumns(label, columns) {
  const most = Math.max(...columns.map((column) => column.value), 1)
  const peak = columns.findIndex((column) => column.value === most)
  const step = (WIDTH - LEFT - RIGHT) / columns.length
  const yOf = (value) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * value) / most
  const lines = [0, 0.25, 0.5, 0.75, 1].map((part) => [
    s('line', { x1: LEFT, x2: WIDTH - RIGHT, y1: yOf(most * part), y2: yOf(most * part), class: 'grid' }),
    textAt(LEFT - 8, yOf(most * part) + 4, 'end', part === 0 ? '0' : bytes(most * part)),
  ])
  const bars = columns.map((column, place) =>
    s(
      'rect',
      { x: LEFT + place * step, y: yOf(column.value), width: Math.max(step - (step > 6 ? 2 : 0), 0.5), height: HEIGHT - BOTTOM - yOf(column.value), class: place === peak ? 'column press peak' : 'column press', onclick: column.open },
      s('title', {}, `${column.label}: ${bytes(column.value)}`),
    ),
  )
  const x = LEFT + (peak + 0.5) * step
  const anchor = x > WIDTH * 0.7 ? 'end' : x < WIDTH * 0.3 ? 'start' : 'middle'
  return picture(
    label,
    lines,
    bars,
    textAt(anchor === 'end' ? x + step / 2 : anchor === 'start' ? x - step / 2 : x, TOP - 9, anchor, `${columns[peak].label}: ${bytes(most)}`, 'mark'),
    textAt(LEFT, HEIGHT - 14, 'start', columns[0].label, 'quiet'),
    columns.length > 1 && textAt(WIDTH - RIGHT, HEIGHT - 14, 'end', columns.at(-1).label, 'quiet'),
  )
}

/** Powers of ten around numbers, at most about eight. */
function powers(values) {
  const least = Math.floor(Math.log10(Math.min(...values)))
  const most = Math.max(Math.ceil(Math.log10(Math.max(...values))), least + 1)
  return { least, most, step: Math.max(1, Math.ceil((most - least) / 8)) }
}

class Axes {
  constructor(xs, ys, { xLog }) {
    this.y = powers(ys)
    this.x = xLog ? powers(xs) : null
    this.range = [Math.min(...xs), Math.max(...xs)]
  }

  xOf(value) {
    const [least, most] = this.x ? [this.x.least, this.x.most] : this.range
    const place = this.x ? Math.log10(value) : value
    return LEFT + ((WIDTH - LEFT - RIGHT) * (place - least)) / (most - least || 1)
  }

  yOf(value) {
    return HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * (Math.log10(value) - this.y.least)) / (this.y.most - this.y.least)
  }

  lines(xText, yText) {
    const items = []
    for (let power = this.y.least; power <= this.y.most; power += this.y.step) {
      const y = this.yOf(10 ** power)
      items.push(s('line', { x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y, class: 'grid' }), textAt(LEFT - 8, y + 4, 'end', yText(10 ** power)))
    }
    if (this.x) {
      for (let power = this.x.least; power <= this.x.most; power += this.x.step) {
        const x = this.xOf(10 ** power)
        items.push(s('line', { x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM, class: 'grid' }), textAt(x, HEIGHT - BOTTOM + 16, 'middle', xText(10 ** power)))
      }
    }
    return items
  }
}


/**
 * Layers by their FLOPs for a byte, below the roofs of a device.
 *
 * points: { x, y, kind, label, open }; rates: { flops, bandwidth, ridge }.
 */
export function roofline(label, points, { flops, bandwidth, ridge }) {
  const drawn = points.filter((point) => point.x > 0 && point.y > 0)
  if (!drawn.length || ridge === null) return null
  const axes = new Axes([...drawn.map((point) => point.x), ridge], [...drawn.map((point) => point.y), flops], { xLog: true })
  const [first, last] = [10 ** axes.x.least, 10 ** axes.x.most]
  // the slanted roof begins where it enters the picture
  const start = Math.max(first, 10 ** axes.y.least / bandwidth)
  const roof = [[start, start * bandwidth], [Math.max(ridge, start), flops], [last, flops]].map(([x, y]) => `${axes.xOf(x)},${axes.yOf(y)}`).join(' ')
  return picture(
    label,
    axes.lines(mark, mark),
    s('polyline', { points: roof, class: 'roof' }),
    textAt(WIDTH - RIGHT, axes.yOf(flops) - 7, 'end', `${short(flops, 'FLOP/s')}`, 'mark'),
    drawn.map((point) => s('circle', { cx: axes.xOf(point.x), cy: axes.yOf(point.y), r: 4.5, class: `dot press ${point.kind}`, onclick: point.open }, s('title', {}, point.label))),
    textAt(LEFT, 14, 'start', 'FLOP/s', 'quiet'),
    textAt(WIDTH - RIGHT, HEIGHT - 6, 'end', 'FLOPs for a byte', 'quiet'),
  )
}

/** Lines over layers on a logarithmic axis; lines are { name, kind, points: [place, value, label] }. */
export function depthLines(label, lines) {
  const drawn = lines.map((line) => ({ ...line, points: line.points.filter(([, value]) => typeof value === 'number' && value > 0) })).filter((line) => line.points.length)
  if (!drawn.length) return null
  const all = drawn.flatMap((line) => line.points)
  const axes = new Axes(all.map(([x]) => x), all.map(([, y]) => y), { xLog: false })
  return picture(
    label,
    axes.lines(mark, mark),
    drawn.map((line) => [
      s('polyline', { points: line.points.map(([x, y]) => `${axes.xOf(x)},${axes.yOf(y)}`).join(' '), class: `line ${line.kind}` }),
      line.points.map(([x, y, name]) => s('circle', { cx: axes.xOf(x), cy: axes.yOf(y), r: 3, class: `dot ${line.kind}` }, s('title', {}, `${name}: ${measured(y)}`))),
    ]),
    drawn.map((line, place) => [
      s('circle', { cx: LEFT + 6 + place * 200, cy: 12, r: 4, class: `dot ${line.kind}` }),
      textAt(LEFT + 16 + place * 200, 16, 'start', line.name),
    ]),
    textAt(LEFT, HEIGHT - 14, 'start', all[0][2], 'quiet'),
    textAt(WIDTH - RIGHT, HEIGHT - 14, 'end', drawn[0].points.at(-1)[2], 'quiet'),
  )
}
