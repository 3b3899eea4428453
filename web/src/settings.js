// The form of dims and vars with their limits, and of what else is asked of a network.
import { h } from '../../netcalc/report/web/src/page/dom.js'

const TYPES = { dtype: ['bfloat16', 'float16', 'float32', 'float64'], mode: ['eval', 'train'] }

const plain = (value) => (value === null || value === undefined ? 'null' : typeof value === 'object' ? JSON.stringify(value) : String(value))

let last = 0

/** A labelled control; `control` gets its id and the id of its description. */
function field(label, control, about = '') {
  last += 1
  const id = `field-${last}`
  control.id = id
  if (about) control.setAttribute('aria-describedby', `${id}-about`)
  return h('div', { class: 'field' }, h('label', { for: id }, label), control, about && h('span', { class: 'quiet', id: `${id}-about` }, about))
}

function choice(values, chosen, empty, changed) {
  const select = h('select', {}, h('option', { value: '' }, empty), values.map((value) => h('option', { value, selected: value === chosen }, value)))
  select.addEventListener('change', () => changed(select.value))
  return select
}

function text(value, placeholder, changed, more = {}, kind = 'input') {
  const input = h(kind, { ...(kind === 'input' && { type: 'text' }), value, placeholder, autocomplete: 'off', ...more })
  input.value = value
  let timer
  input.addEventListener('input', () => {
    clearTimeout(timer)
    timer = setTimeout(() => changed(input.value.trim()), 250)
  })
  return input
}

/** Words on what may be given: the limits where there are any, else the type. */
const allowed = ({ type, limits }) => (limits.includes(' | ') ? '' : limits ? `${type} ${limits}` : ['int', 'bool'].includes(type) ? '' : type)

export class Settings {
  /** `host` has `ask`, and `changed(document)`, which counts anew. */
  constructor(host) {
    this.host = host
    this.choices = null
  }

  async nodes(document_) {
    this.choices ??= await this.host.ask('choices')
    const { options } = document_
    let sizes = document_.sizes
    let problem = null
    try {
      sizes = await this.host.ask('sizes', document_)
      document_.sizes = sizes
    } catch (error) {
      problem = h('p', { class: 'warn' }, 'The spec has problems; these are the dims and vars of an earlier text.')
      if (!sizes) problem = h('p', { class: 'warn' }, 'Dims and vars follow when the problems of the spec are solved.')
    }
    const set = (name, value) => {
      if (value === '' || value === undefined || value?.length === 0) delete options[name]
      else options[name] = value
      this.host.changed(document_)
    }
    return h(
      'form',
      { class: 'settings', onsubmit: (event) => event.preventDefault() },
      problem,
      sizes && [
        Object.keys(sizes.dims).length > 0 && this.group('Sizes', Object.entries(sizes.dims).map((each) => this.size(document_, each))),
        Object.keys(sizes.vars).length > 0 && this.group('Vars', Object.entries(sizes.vars).map((each) => this.variable(document_, each))),
      ],
      this.group('Counting', [
        field('Convention', choice(this.choices.conventions, options.convention, 'netcalc', (value) => set('convention', value)), 'Which operations count, and how'),
        field('Training', choice(this.choices.optimizers, options.training, 'none', (value) => set('training', value)), 'A step of training by this optimizer'),
        field('Element type', choice(TYPES.dtype, options.dtype, "the spec's", (value) => set('dtype', value))),
        field('Mode', choice(TYPES.mode, options.mode, 'eval', (value) => set('mode', value))),
        this.quantization(options, set),
      ]),
    )
  }

  group(title, fields) {
    return h('fieldset', {}, h('legend', {}, title), fields)
  }

  value(document_, name, value) {
    const set = { ...document_.options.set }
    if (value === '') delete set[name]
    else set[name] = value
    if (Object.keys(set).length) document_.options.set = set
    else delete document_.options.set
    this.host.changed(document_)
  }

  /** A field, which may be left open as a symbol. */
  size(document_, [name, each], about = [each.about, allowed(each)]) {
    const symbolic = h('input', { type: 'checkbox', checked: document_.options.symbolic?.includes(name), 'aria-label': `Keep ${name} as a symbol` })
    const input = this.control(document_, name, each)
    input.disabled = symbolic.checked
    symbolic.addEventListener('change', () => {
      const others = (document_.options.symbolic ?? []).filter((each) => each !== name)
      const names = symbolic.checked ? [...others, name] : others
      if (names.length) document_.options.symbolic = names
      else delete document_.options.symbolic
      input.disabled = symbolic.checked
      this.host.changed(document_)
    })
    const element = field(name, input, about.filter(Boolean).join('; '))
    element.append(h('span', { class: 'check' }, symbolic, ' symbolic'))
    return element
  }

  variable(document_, [name, variable]) {
    const about = [variable.about, allowed(variable), variable.expression]
    if (variable.type === 'int') return this.size(document_, [name, variable], about)
    return field(name, this.control(document_, name, variable), about.filter(Boolean).join('; '))
  }

  control(document_, name, { type, default: usual, limits }) {
    const value = document_.options.set?.[name] ?? ''
    const changed = (given) => this.value(document_, name, given)
    if (type === 'bool') return choice(['true', 'false'], value, `${plain(usual)} (default)`, changed)
    if (type === 'str' && limits.includes(' | ')) return choice(limits.split(' | '), value, `${plain(usual)} (default)`, changed)
    return text(value, plain(usual), changed, type === 'int' ? { inputmode: 'numeric' } : {})
  }

  quantization(options, set) {
    const list = h('datalist', { id: 'schemes' }, this.choices.schemes.map((name) => h('option', { value: name })))
    const rules = options.quantize ?? []
    const changed = (value) => set('quantize', value.split(/\s+/).filter(Boolean))
    // one on each line where there are several, as those of a file
    const input = rules.length > 1 ? text(rules.join('\n'), '', changed, { rows: Math.min(rules.length, 8), spellcheck: 'false' }, 'textarea') : text(rules.join(' '), 'none', changed, { list: 'schemes' })
    const element = field('Quantization', input, "Schemes of storage, as int8 or '*.mlp.*=int4-g128'; the first match counts")
    element.append(list)
    return element
  }
}
