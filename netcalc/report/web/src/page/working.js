// The panel with the working behind a number.
import { h } from './dom.js'
import { exact, measured, shapes } from './numbers.js'

const value = (number) => (typeof number === 'number' ? (Number.isInteger(number) ? exact(number) : measured(number)) : exact(number))

function stepRow(step) {
  const formula = [step.formula, step.substituted].filter(Boolean)
  return h(
    'div',
    { class: 'step' },
    h('div', { class: 'label' }, step.label),
    h('div', { class: 'formula' }, formula.map((text) => h('div', {}, `= ${text}`))),
    h('output', { class: 'value' }, value(step.value)),
  )
}

function drawn(working) {
  const attributes = Object.entries(working.attributes ?? {}).filter(([, item]) => item !== null)
  return [
    working.about && h('p', {}, working.about),
    (working.inputs.length > 0 || working.outputs.length > 0) && working.inputs.length + working.outputs.length < 12 &&
      h('p', { class: 'mono' }, `${shapes(working.inputs)} → ${shapes(working.outputs)}`),
    working.repeat > 1 && h('p', {}, `${exact(working.repeat)} instances; figures count one of them`),
    attributes.length > 0 &&
      h('p', { class: 'mono quiet' }, attributes.map(([name, item]) => `${name}: ${typeof item === 'object' ? JSON.stringify(item) : item}`).join(', ')),
    working.sections.map((part) =>
      h(
        'section',
        { class: 'part', 'data-title': part.title },
        h('h3', {}, part.title),
        part.rule && h('p', { class: 'quiet' }, part.rule),
        part.steps.map(stepRow),
      ),
    ),
    working.notes?.length > 0 && h('ul', {}, working.notes.map((note) => h('li', {}, note))),
    working.source && h('p', { class: 'quiet source' }, 'Source: ', working.source),
  ]
}

/** The panel; `open(title, record, sections)` shows a record, with the first of the sections that it has in view. */
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
  const open = (title, record, sections = []) => {
    if (panel.hidden) from = document.activeElement
    heading.textContent = ''
    heading.append(title)
    body.replaceChildren(...[drawn(record)].flat(Infinity).filter(Boolean))
    panel.hidden = false
    document.body.classList.add('working')
    body.scrollTop = 0
    const parts = [...body.querySelectorAll('.part')]
    const part = sections.map((name) => parts.find((each) => each.dataset.title === name || each.dataset.title.startsWith(`${name},`))).find(Boolean)
    if (part) {
      part.classList.add('asked')
      body.scrollTop = part.offsetTop - body.offsetTop - 8
    }
    heading.focus({ preventScroll: true })
  }
  return { element: panel, open, close, onclose: (run) => (closed = run) }
}

/** A number that opens its working. */
export function opener(text, run, label) {
  return h('button', { type: 'button', class: 'n', onclick: run, title: label ?? 'Show the working', 'aria-haspopup': 'dialog' }, text)
}
