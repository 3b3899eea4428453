// The result: totals, and the panels of layers, graph, memory and others, drawn by the parts of the report's page.
import { append, h } from '../../netcalc/report/web/src/page/dom.js'
import { compare } from '../../netcalc/report/web/src/page/compare.js'
import { graph, graphColors } from '../../netcalc/report/web/src/page/graph.js'
import { layers } from '../../netcalc/report/web/src/page/layers.js'
import { caches, memory } from '../../netcalc/report/web/src/page/memory.js'
import { figureText, titleOf } from '../../netcalc/report/web/src/page/names.js'
import { exact, isNumber } from '../../netcalc/report/web/src/page/numbers.js'
import { overview } from '../../netcalc/report/web/src/page/overview.js'
import { Openers, opener, workingPanel } from '../../netcalc/report/web/src/page/working.js'
import { installation } from './installation.js'

/** Totals that are always in sight, those of training where there are any. */
const SHOWN = ['params', 'params_trainable', 'macs', 'flops', 'flops_total', 'weight_bytes']

/** A size that depends on symbols, as it is read. */
const formula = (text) =>
  String(text)
    .replace(/\*\*(\d+)/g, (_, digits) => [...digits].map((digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[digit]).join(''))
    .replaceAll('*', '·')
    .replace(/(?<![\w.])\d{4,}(?![\w.])/g, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ','))

/** A working that is asked for when it is opened; `attributes` are those of any layer. */
const later = (ask, more = {}) => ({ ask, attributes: { layer: true }, ...more })

/** A network as the parts of the report's page take it: workings are questions. */
export function networkOf(answer, extra = {}) {
  const layer = ({ path }) => [path, later({ path }, { path: answer.titles[path] ?? path })]
  const blocks = (extra.graph?.groups ?? []).map(({ path }) => [path, later({ path })])
  const workings = { total: later({}), memory: later({ memory: true }), layers: Object.fromEntries(answer.summary.layers.map(layer)), blocks: Object.fromEntries(blocks) }
  return { ...answer, ...extra, workings }
}

/** A compared network: all of its layers and operations have workings. */
function comparedOf(document_) {
  const any = (ask) => new Proxy({}, { get: (_, name) => later(ask(name), { document: document_ }) })
  return { title: document_.name, workings: { total: later({}, { document: document_ }), layers: any((path) => ({ path })), operations: any((operation) => ({ operation })) } }
}

const PANELS = [
  { id: 'layers', title: 'Layers' },
  { id: 'graph', title: 'Graph' },
  { id: 'memory', title: 'Memory' },
  { id: 'settings', title: 'Settings' },
  { id: 'compare', title: 'Compare' },
  { id: 'about', title: 'About' },
  { id: 'run', title: 'Run' },
]

export class Results {
  /** `host` has `current()`, `documents()`, `ask(method, document, more)`, and `settings`, the form of the settings. */
  constructor(host) {
    this.host = host
    this.panel = 'layers'
    this.other = null
    this.drawing = 0
    this.working = workingPanel()
    // a long working is scrolled by keys
    this.working.element.querySelector('.body').tabIndex = 0
    this.working.onclose(() => (this.opened = null))
    this.openers = new Openers({ open: (...asked) => this.open(...asked) }, { summary: [], memory: [] })
    this.totals = h('div', { class: 'totals', role: 'group', 'aria-label': 'Totals' })
    this.state = h('p', { class: 'state', role: 'status' })
    this.tabs = h('div', { class: 'panels', role: 'tablist', 'aria-label': 'Results' })
    this.body = h('div', { class: 'panel', role: 'tabpanel', id: 'panel', tabindex: '0' })
    this.element = h('section', { class: 'result', 'aria-label': 'Result' }, h('div', { class: 'head' }, this.totals, this.state, this.tabs), this.body)
    this.drawTabs()
  }

  drawTabs() {
    const select = (id) => {
      this.panel = id
      this.drawTabs()
      this.draw()
      this.tabs.querySelector('[aria-selected=true]').focus()
    }
    const keys = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
      if (!step) return
      event.preventDefault()
      const at = PANELS.findIndex((panel) => panel.id === this.panel)
      select(PANELS[(at + step + PANELS.length) % PANELS.length].id)
    }
    this.tabs.replaceChildren(
      ...PANELS.map(({ id, title }) =>
        h('button', { type: 'button', role: 'tab', id: `tab-${id}`, 'aria-selected': String(id === this.panel), 'aria-controls': 'panel', tabindex: id === this.panel ? '0' : '-1', onclick: () => select(id), onkeydown: keys }, title),
      ),
    )
    this.body.setAttribute('aria-labelledby', `tab-${this.panel}`)
  }

  /** Say what the figures are: those of the text, of an earlier one, or none. */
  mark(text, kind = '') {
    this.state.textContent = text
    this.state.className = `state ${kind}`
    for (const each of [this.element, this.working.element]) each.classList.toggle('stale', kind === 'old')
  }

  drawTotals() {
    const { answer } = this.host.current()
    if (!answer) {
      this.totals.replaceChildren(h('span', { class: 'quiet' }, 'No figures yet'))
      return
    }
    const { totals } = answer.summary
    const names = SHOWN.filter((name) => name in totals && (name !== 'params_trainable' || totals[name] !== totals.params))
    const card = (name) => {
      const value = totals[name]
      const place = this.openers.place('summary', `totals.${name}`)
      if (!isNumber(value)) return h('div', { class: 'total formula', 'data-figure': name }, h('span', { class: 'what' }, titleOf(name)), h('span', { class: 'exact' }, opener(formula(value), () => this.open(titleOf(name), later({}), place, value))))
      const number = this.openers.number(figureText(name, value), value, titleOf(name), later({}), place)
      return h('div', { class: 'total', 'data-figure': name }, h('span', { class: 'what' }, titleOf(name)), typeof number === 'string' ? h('span', { class: 'n' }, number) : number, h('span', { class: 'exact' }, exact(value)))
    }
    const unknown = answer.summary.unknown?.length > 0 && h('p', { class: 'warn' }, `At least these: the work of ${answer.summary.unknown.join(', ')} is not known.`)
    this.totals.replaceChildren(...names.map(card), ...[unknown].filter(Boolean))
  }

  /** Show a working: of the page, or one that is asked for. */
  async open(title, record, place, asked) {
    if (!record) return
    try {
      const found = record.ask ? await this.host.ask('explain', record.document ?? this.host.current(), record.ask) : record
      this.working.open(title, found, place, asked)
      this.opened = record.ask ? { title, record, place } : null
    } catch (error) {
      this.mark(error.message, 'warn')
    }
  }

  /** Draw totals and the chosen panel of the current document. */
  async draw() {
    this.drawing += 1
    const mine = this.drawing
    const document_ = this.host.current()
    this.drawTotals()
    // a form that is being filled in stays as it is
    if (this.panel === 'settings' && this.drawn === `${document_.id} settings` && this.body.querySelector(':focus')) return
    this.body.setAttribute('aria-busy', 'true')
    const before = { search: this.body.querySelector('.search')?.value, top: this.body.scrollTop, drawn: this.drawn }
    let nodes
    try {
      nodes = await this.nodes(document_)
    } catch (error) {
      nodes = h('p', { class: 'warn' }, error.message)
    }
    if (mine !== this.drawing || nodes === undefined) return
    this.body.replaceChildren()
    this.body.dataset.panel = this.panel
    append(this.body, [nodes])
    this.body.setAttribute('aria-busy', 'false')
    this.drawn = `${document_.id} ${this.panel}`
    if (before.drawn !== this.drawn) return
    this.body.scrollTop = before.top
    const search = this.body.querySelector('.search')
    if (search && before.search) {
      search.value = before.search
      search.dispatchEvent(new Event('input'))
    }
  }

  /** Close a working of an earlier text, or bring it up to date. */
  follow() {
    if (this.working.element.hidden) return
    if (this.opened) this.open(this.opened.title, this.opened.record, this.opened.place)
    else this.working.close()
  }

  async nodes(document_) {
    if (this.panel === 'settings') return this.host.settings.nodes(document_)
    if (this.panel === 'run') return installation(document_)
    if (!document_.answer) return h('p', { class: 'quiet' }, document_.problems.length ? 'There are no figures before the problems of the spec are solved.' : 'Counting…')
    const network = networkOf(document_.answer)
    const { openers } = this
    const go = () => {}
    switch (this.panel) {
      case 'layers': {
        const more = document_.answer.rows > network.summary.layers.length && h('p', { class: 'warn' }, `The first ${exact(network.summary.layers.length)} of ${exact(document_.answer.rows)} rows; a saved CSV has all.`)
        return [layers(network, 0, openers, go).nodes, more]
      }
      case 'graph': {
        graphColors()
        return graph(networkOf(document_.answer, { graph: await this.host.ask('graph', document_) }), 0, openers, go)
      }
      case 'memory': {
        const full = networkOf(document_.answer, { memory: await this.host.ask('memory', document_) })
        return [memory(full, openers), full.memory.kept.length > 0 && [h('h2', {}, 'Caches'), caches(full, openers)]]
      }
      case 'about':
        return overview(network, openers)
      default:
        return this.compared(document_)
    }
  }

  async compared(document_) {
    const others = this.host.documents().filter((each) => each !== document_)
    if (!others.length) return h('p', {}, 'Open a second network in a tab of its own, and it is compared here.')
    const other = others.find((each) => each.id === this.other) ?? others[0]
    const select = h('select', { id: 'other' }, others.map((each) => h('option', { value: each.id, selected: each === other }, each.name)))
    select.addEventListener('change', () => {
      this.other = Number(select.value)
      this.draw()
    })
    const head = h('p', { class: 'tools' }, h('label', { for: 'other' }, `${document_.name} beside `), select)
    const comparison = await this.host.compare(document_, other)
    return [head, compare({ comparison, networks: [comparedOf(document_), comparedOf(other)] }, this.openers)]
  }
}

