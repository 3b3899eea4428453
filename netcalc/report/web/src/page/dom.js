// Elements and texts.  Texts of data become text nodes only, never markup.

// characters that are not shown, or that turn the direction of text
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u205f-\u206f\ufeff\ufff0-\uffff\ud800-\udfff]/gu

/** A text with its hidden characters written as escapes. */
export const shown = (text) => String(text).replace(HIDDEN, (c) => `\\u{${c.codePointAt(0).toString(16)}}`)

const SVG = 'http://www.w3.org/2000/svg'

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else if (name === 'style') for (const [key, item] of Object.entries(value)) element.style.setProperty(key, item)
    else element.setAttribute(name, value === true ? '' : shown(value))
  }
  append(element, children)
  return element
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue
    element.append(child instanceof Node ? child : document.createTextNode(shown(child)))
  }
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children)
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children)

/** A path, which may be broken behind its dots. */
export const path = (text) => String(text).split(/(?<=\.)/).flatMap((part, place) => (place ? [h('wbr'), part] : [part]))

/** A section with a heading that links to it. */
export function section(id, title, ...children) {
  return h('section', { id, 'aria-labelledby': `${id}-title` }, h('h2', { id: `${id}-title` }, title), ...children)
}

/** A table: columns are { title, number, wide }, rows are lists of cells, which are texts or elements. */
export function table(columns, rows, { caption, className, tall } = {}) {
  const kind = (column) => [column.number ? 'num' : '', column.prose ? 'prose' : ''].join(' ').trim() || null
  return h(
    'div',
    { class: tall ? 'scroll tall' : 'scroll', tabindex: '0', role: 'region', 'aria-label': caption ?? columns.map((each) => each.title).join(', ') },
    h(
      'table',
      { class: className },
      caption && h('caption', {}, caption),
      h('thead', {}, h('tr', {}, columns.map((column) => h('th', { scope: 'col', class: kind(column) }, column.title)))),
      h('tbody', {}, rows.map((row) => h('tr', {}, row.map((cell, place) => h('td', { class: kind(columns[place]) }, cell))))),
    ),
  )
}

/** The first items of a list, and the others when they are asked for. */
export function firstOf(items, most, draw, noun) {
  if (items.length <= most) return draw(items)
  const place = h('div', {}, draw(items.slice(0, most)))
  const more = h('button', { type: 'button', class: 'quiet', onclick: () => place.replaceChildren(draw(items)) }, `Show all ${items.length} ${noun}`)
  place.append(more)
  return place
}
