// Parts of a whole as a bar, with their numbers.
import { h } from './dom.js'

/** Parts are lists of name, value, kind, and the number as it is shown; `total` is the shown number of the whole. */
export function stack(parts, total) {
  const known = parts.filter(([, value]) => typeof value === 'number' && value > 0)
  return h(
    'div',
    { class: 'stack' },
    h('div', { class: 'stackbar', 'aria-hidden': 'true' }, known.map(([, value, kind]) => h('span', { class: kind, style: { 'flex-grow': String(value) } }))),
    h(
      'ul',
      { class: 'legend' },
      parts.map(([name, , kind, number]) => h('li', {}, h('span', { class: `key ${kind}`, 'aria-hidden': 'true' }), `${name} `, number)),
      total && h('li', { class: 'total' }, 'In all ', total),
    ),
  )
}
