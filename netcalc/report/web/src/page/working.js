// The panel with the working behind a number.
import { h } from './dom.js'
import { exact, measured, shapes } from './numbers.js'
import { NOWHERE, partsAt, placeOf } from './places.js'

const value = (number) => (typeof number === 'number' ? (Number.isInteger(number) ? exact(number) : measured(number)) : exact(number))

function stepRow(step) {
  const formula = [step.formula, step.substituted].filter(Boolean)
  return h(
    'div',
    { class: 'step', 'data-label': step.label },
    h('div', { class: 'label' }, step.label),
    h('div', { class: 'formula' }, formula.map((text) => h('div', {}, `= ${text}`))),
    h('output', { class: 'value' }, value(step.value)),
  )
}

function drawn(working) {
  const attributes = Object.entries(working.attributes ?? {}).filter(([, item]) => item !== null)
  return [
    working.about && h('p', {}, working.about),
    (working.inputs?.length > 0 || working.outputs?.length > 0) && working.inputs.length + working.outputs.length < 12 &&
      h('p', { class: 'mono' }, `${shapes(working.inputs)} → ${shapes(working.outputs)}`),
    working.repeat > 1 && h('p', {}, `${exact(working.repeat)} instances; figures count one of them`),
    attributes.length > 0 &&
      h('p', { class: 'mono quiet' }, attributes.map(([name, item]) => `${name}: ${typeof item === 'object' ? JSON.stringify(item) : item}`).join(', ')),
    working.sections.map((part) =>
      h(
        'section',
        { class: 'part', 'data-title': part.title },
        part.title && h('h3', {}, part.title),
        part.rule && h('p', { class: 'quiet' }, part.rule),
        part.steps.map(stepRow),
      ),
    ),
    working.notes?.length > 0 && h('ul', {}, working.notes.map((note) => h('li', {}, note))),
    working.source && h('p', { class: 'quiet source' }, 'Source: ', working.source),
  ]
}

/** The working of a number that relates others of the records: no explanation of its own, but its steps. */
export const derived = (about, ...steps) => ({ about, sections: [{ title: '', steps: steps.map(([label, number, substituted = '']) => ({ label, formula: '', substituted, value: number })) }] })

/** Mark steps, and say of several that the number which was asked for is their sum. */
function mark(found, asked) {
  const lines = found.flatMap(([, steps]) => steps)
  for (const [part] of found) part.classList.add('asked')
  for (const line of lines) line.classList.add('asked')
  if (lines.length < 2 || asked === null) return
  const numbers = lines.map((line) => line.querySelector('output').textContent)
  const sum = stepRow({ label: 'in all', formula: '', substituted: numbers.join(' + '), value: asked })
  sum.classList.add('asked')
  found.at(-1)[0].append(sum)
}

/**
 * The panel; `open(title, record, place, asked)` shows a record, with what is at a place of it in view.  `asked` is the
 * number that is opened.
 */
export function workingPanel() {
  let from = null
  let closed = () => {}
  const heading = h('h2', { id: 'working-title', tabindex: '-1' })
  const body = h('div', { class: 'body' })
  const close = () => {
    if (panel.hidden) return
    panel.hidden = true
    document.body.classList.remove('working')
    closed()
    from?.focus()
  }
  const panel = h(
    'aside',
    { id: 'working', role: 'dialog', 'aria-labelledby': 'working-title', hidden: true },
    h('header', {}, heading, h('button', { type: 'button', class: 'close', 'aria-label': 'Close the working', onclick: close }, '×')),
    body,
  )
  document.addEventListener('keydown', (event) => event.key === 'Escape' && close())
  const open = (title, record, place = NOWHERE, asked = null) => {
    if (panel.hidden) from = document.activeElement
    heading.textContent = ''
    heading.append(title)
    body.replaceChildren(...[drawn(record)].flat(Infinity).filter(Boolean))
    panel.hidden = false
    document.body.classList.add('working')
    body.scrollTop = 0
    const found = partsAt([...body.querySelectorAll('.part')], place)
    mark(found, asked)
    if (found.length) {
      // the title of the section stays in view unless the step is too far below it
      const [part, [line]] = found[0]
      const [top, below] = [part.offsetTop - body.offsetTop, (line ?? part).offsetTop - part.offsetTop]
      body.scrollTop = below > body.clientHeight / 2 ? top + below - body.clientHeight / 2 : top - 8
    }
    heading.focus({ preventScroll: true })
  }
  return { element: panel, open, close, onclose: (run) => (closed = run) }
}

/** Numbers that open their workings in a panel, at the places that are declared for the fields of records. */
export class Openers {
  constructor(panel, places) {
    Object.assign(this, { panel, places })
  }

  /** The place of a field: `place('memory', 'stored.*.bytes', item)`. */
  place(record, field, item) {
    return placeOf(this.places[record], field, item)
  }

  /** A number as something to press; as a text if it is nothing, or has no working. */
  number(text, value, title, working, place) {
    const nothing = value === 0 || value === null || value === undefined
    return nothing || !working ? text : opener(text, () => this.panel.open(title, working, place, value), digits(value))
  }
}

/** All digits of a number. */
const digits = (number) => (typeof number === 'number' && !Number.isInteger(number) ? String(number) : exact(number))

/** A text that opens a working. */
export function opener(text, run, label) {
  return h('button', { type: 'button', class: 'n', onclick: run, title: label ?? 'Show the working', 'aria-haspopup': 'dialog' }, text)
}
