const PREFIXES = ['', 'k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y']
const ELEMENTS = ['', 'k', 'M', 'B', 'T']

/** A number in a few digits with a prefix, as netcalc's tables have it; a symbolic size is text already. */
export function short(value, digits = 3, units = PREFIXES) {
  if (typeof value !== 'number') return String(value)
  if (Math.abs(value) < 1000) return String(value)
  let power = Math.min(Math.floor((String(Math.abs(value)).length - 1) / 3), units.length - 1)
  if (Math.abs(value) >= 1e21) power = Math.min(7, units.length - 1)
  let scaled = value / 1000 ** power
  const places = (number) => Math.max(0, digits - String(Math.trunc(Math.abs(number))).length)
  if (Number(scaled.toFixed(places(scaled))) >= 1000 && power < units.length - 1) {
    power += 1
    scaled = value / 1000 ** power
  }
  return `${scaled.toFixed(places(scaled))} ${units[power]}`
}

export const paramsText = (value) => `${short(value, 3, ELEMENTS)} params`

export function macsText(value) {
  if (value === null) return 'MACs not known'
  const text = short(value, 4)
  return typeof value === 'number' && text.includes(' ') ? `${text}MAC` : `${text} MAC`
}

/** The shape of a tensor, with its element type unless that is floating point. */
export function shapeText(shape, dtype) {
  const sizes = shape.length ? shape.map((size) => (/[^\w]/.test(String(size)) ? `(${size})` : size)).join('×') : 'scalar'
  return /float/.test(dtype) ? sizes : `${sizes} ${dtype}`
}

export const escaped = (text) =>
  String(text).replace(/[&<>"']/g, (c) => `&#${c.codePointAt(0)};`).replace(HIDDEN, (c) => `\\u{${c.codePointAt(0).toString(16)}}`)

// characters that XML does not allow, that are not shown, or that turn the direction of text
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\ufeff\ufff0-\uffff\ud800-\udfff]/g
