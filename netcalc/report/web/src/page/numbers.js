// Numbers as text.  Integers that a double does not have exactly are texts of digits in the data, and symbolic sizes are
// texts too.

const DIGITS = /^-?\d+$/

export const isNumber = (value) => typeof value === 'number' || (typeof value === 'string' && DIGITS.test(value))

/** All digits of an integer, in groups of three. */
export function exact(value) {
  if (value === null || value === undefined) return '–'
  if (typeof value === 'number' && !Number.isInteger(value)) return measured(value)
  const text = String(value)
  return DIGITS.test(text) ? text.replace(/\B(?=(\d{3})+$)/g, ',') : text
}

/** A number of any size in four digits. */
export function measured(value) {
  if (value === null || value === undefined) return '–'
  if (typeof value !== 'number') return String(value)
  if (value === 0) return '0'
  const size = Math.abs(value)
  return size >= 1e-3 && size < 1e6 ? String(Number(value.toPrecision(4))) : value.toExponential(3)
}

const PREFIXES = ['', 'k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y']
const ELEMENTS = ['', 'k', 'M', 'B', 'T']
const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB']

function scaled(value, base, units, digits) {
  let size = Math.abs(Number(value))
  let power = 0
  while (power < units.length - 1 && size >= base) {
    size /= base
    power += 1
  }
  if (power === 0) return [exact(value), units[0]]
  const text = size >= 10 ** (digits - 1) ? size.toFixed(0) : size.toPrecision(digits)
  return [`${Number(value) < 0 ? '-' : ''}${text}`, units[power]]
}

/** A number in four digits with a prefix: 3.664 G. */
export function short(value, unit = '') {
  if (!isNumber(value)) return [exact(value), unit].filter(Boolean).join(' ')
  const [text, prefix] = scaled(value, 1000, PREFIXES, 4)
  return prefix || unit ? `${text} ${prefix}${unit}` : text
}

/** A mark of an axis: 1 k, 200 G, 0.01. */
export function mark(value) {
  if (value < 1e-3) return value.toExponential(0)
  const [text, prefix] = scaled(value, 1000, PREFIXES, 4)
  return `${Number(text)} ${prefix}`.trim()
}

/** A number of elements in four digits: 21.8 M, 174.6 B. */
export function elements(value) {
  return isNumber(value) ? scaled(value, 1000, ELEMENTS, 4).filter(Boolean).join(' ') : exact(value)
}

export function bytes(value) {
  if (!isNumber(value)) return exact(value)
  return scaled(value, 1024, BINARY, 3).join(' ')
}

export function seconds(value) {
  if (typeof value !== 'number') return exact(value)
  for (const [unit, factor] of [['s', 1], ['ms', 1e3], ['µs', 1e6]]) if (value * factor >= 1) return `${Number((value * factor).toPrecision(4))} ${unit}`
  return `${Number((value * 1e9).toPrecision(4))} ns`
}

export const percent = (share) => (share === 0 ? '0 %' : typeof share === 'number' ? `${(100 * share).toFixed(share >= 0.0995 ? 1 : 2)} %` : '')

export const shape = (sizes) => (sizes.length ? sizes.map((size) => (DIGITS.test(String(size)) || /^\w+$/.test(size) ? size : `(${size})`)).join('×') : 'scalar')

export const shapes = (list) => list.map(shape).join(', ')

/** Order of two values of a column: numbers by size, also very long ones, then texts. */
export function order(a, b) {
  if (isNumber(a) && isNumber(b)) {
    if (typeof a === 'number' && typeof b === 'number') return a - b
    const [x, y] = [BigInt(a), BigInt(b)]
    return x < y ? -1 : x > y ? 1 : 0
  }
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? 1 : -1
  return String(a ?? '').localeCompare(String(b ?? ''), 'en', { numeric: true })
}
