// What the page does not do, since it needs NumPy: the command for each, to copy.
import { h } from '../../netcalc/report/web/src/page/dom.js'

const quoted = (text) => (/^[\w.,:=/+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

const VERBS = [
  ['verify', 'Execute the network, and hold shapes, parameters and operations against what was counted.'],
  ['run', 'Execute it on numbers of your own, or drawn at random.'],
  ['train', 'Take steps of training, and see the loss.'],
  ['signal', 'Measure activations and gradients at initialization.'],
]

/** Options of a document as the command line takes them. */
export function optionsOf({ options }) {
  const words = Object.entries(options.set ?? {}).filter(([, value]) => value !== '').map(([name, value]) => `--set ${quoted(`${name}=${value}`)}`)
  for (const name of ['dtype', 'mode']) if (options[name]) words.push(`--${name} ${quoted(options[name])}`)
  for (const name of ['quantize']) for (const value of options[name] ?? []) words.push(`--${name} ${quoted(value)}`)
  return words.join(' ')
}

export function copyable(text) {
  const button = h('button', { type: 'button', class: 'copy', 'aria-label': `Copy: ${text}` }, 'Copy')
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text)
    button.textContent = 'Copied'
    setTimeout(() => (button.textContent = 'Copy'), 1500)
  })
  return h('div', { class: 'command' }, h('code', {}, text), button)
}

export function installation(document_) {
  const file = quoted(`${document_.name.replace(/[^\w.-]+/g, '-') || 'spec'}.yaml`)
  const command = (verb) => ['netcalc', verb, file, optionsOf(document_)].filter(Boolean).join(' ')
  return [
    h('p', {}, 'This page counts. To execute a network takes NumPy, which the page cannot have, and so an installation. In a copy of the sources of netcalc:'),
    copyable('python3 -m venv .venv && .venv/bin/pip install . && . .venv/bin/activate'),
    h('p', {}, 'Save the spec as YAML, and then:'),
    VERBS.map(([verb, about]) => [h('h3', {}, verb), h('p', {}, about), copyable(command(verb))]),
  ]
}
