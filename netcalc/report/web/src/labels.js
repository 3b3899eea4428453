// Texts in boxes, at edges and in the headings of groups, with their sizes.
import { macsText, paramsText, shapeText } from './text.js'
import { shortened, textWidth } from './widths.js'

export const NAME_SIZE = 13
export const TEXT_SIZE = 11
const LINE = 16
const MOST = 260

export const NODE = {
  label: (text) => ({ width: textWidth(text, TEXT_SIZE) + 8, height: TEXT_SIZE + 6 }),
}

export function labelOf(edge) {
  return shortened(shapeText(edge.shape, edge.dtype), MOST, TEXT_SIZE)
}

function figuresOf(item, show) {
  const figures = []
  if (show.includes('params') && item.params !== 0) figures.push(paramsText(item.params))
  if (show.includes('macs') && item.macs !== 0) figures.push(macsText(item.macs))
  return figures
}

const times = (item) => (item.times > 1 ? ` ×${item.times}` : '')

function fitted(name, suffix, size, bold) {
  return shortened(name, MOST - textWidth(suffix, size, bold), size, bold) + suffix
}

/** Lines of a box, and its size. */
export function linesOf(item, show) {
  const lines = [{ text: fitted(item.name, times(item), NAME_SIZE, true), size: NAME_SIZE, bold: true }]
  if (item.op !== item.name && !['input', 'output'].includes(item.kind)) {
    lines.push({ text: shortened(item.op, MOST, TEXT_SIZE), size: TEXT_SIZE, bold: false })
  }
  const figures = figuresOf(item, show)
  if (figures.length) lines.push({ text: shortened(figures.join(' · '), MOST, TEXT_SIZE), size: TEXT_SIZE, bold: false, figures: true })
  const width = Math.max(...lines.map(({ text, size, bold }) => textWidth(text, size, bold)), 40) + 20
  return { lines, width: Math.ceil(width), height: lines.length * LINE + 10 }
}

/** Heading of a group: its name and block on the left, its figures on the right. */
export function headingOf(item, show) {
  const left = [{ text: fitted(item.name, times(item), NAME_SIZE, true), size: NAME_SIZE, bold: true }]
  if (item.op !== 'sequence') left.push({ text: shortened(item.op, MOST, TEXT_SIZE), size: TEXT_SIZE, bold: false })
  const right = figuresOf(item, show).map((text) => ({ text: shortened(text, MOST, TEXT_SIZE), size: TEXT_SIZE, bold: false, figures: true }))
  const widthOf = (lines) => Math.max(0, ...lines.map(({ text, size, bold }) => textWidth(text, size, bold)))
  const height = Math.max(left.length, right.length) * LINE
  return {
    height,
    leftWidth: widthOf(left),
    rightWidth: widthOf(right),
    placed: (start, top, end) => [
      ...left.map((line, row) => ({ ...line, x: start, y: top + row * LINE, width: textWidth(line.text, line.size, line.bold), height: LINE, anchor: 'start' })),
      ...right.map((line, row) => {
        const width = textWidth(line.text, line.size, line.bold)
        return { ...line, x: end - width, y: top + row * LINE, width, height: LINE, anchor: 'end' }
      }),
    ],
  }
}

export const LINE_HEIGHT = LINE
