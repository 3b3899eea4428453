// The page: documents in tabs, the editor beside the results, and one question at a time to the worker.
import { h } from '../../netcalc/report/web/src/page/dom.js'
import { graphColors } from '../../netcalc/report/web/src/page/graph.js'
import { themeButton } from '../../netcalc/report/web/src/page/theme.js'
import { openDialog, saveDialog, tensorsDialog } from './dialogs.js'
import { asked, document_, FIRST, keep, kept } from './documents.js'
import { Editor } from './editor.js'
import { Engine, Failed, Refused } from './engine.js'
import { isConfiguration, readFiles, specOf } from './files.js'
import { documentOf, fragmentOf } from './link.js'
import { Problems } from './problems.js'
import { Results } from './results.js'
import { Settings } from './settings.js'

/** Milliseconds without a key before a text is counted, and after which the page offers to stop. */
const PAUSE = 120
const PATIENCE = 4000

class Page {
  constructor() {
    this.documents = []
    this.at = 0
    this.counting = false
    this.engine = new Engine((stage) => this.staged(stage))
    this.settings = new Settings({ ask: (method, each) => this.ask(method, each), changed: (each) => this.asked(each) })
    this.results = new Results({
      current: () => this.current(),
      documents: () => this.documents,
      ask: (...question) => this.ask(...question),
      compare: (...pair) => this.engine.ask('compare', { documents: pair.map(({ text, options }) => ({ text, options: asked(options) })) }),
      settings: this.settings,
    })
    this.problems = new Problems({ go: (position) => this.goTo(position), fix: (edits) => this.editor.apply(edits) })
    this.open = openDialog({ ask: (method) => this.engine.ask(method), openSpec: (name) => this.openSpec(name), openFiles: (files) => this.openFiles(files) })
    this.save = saveDialog({ current: () => this.current(), written: (format) => this.written(format), link: () => this.link() })
    this.tensors = tensorsDialog()
    this.build()
  }

  build() {
    this.loading = h('p', { class: 'loading', role: 'status' }, 'Loading Python …')
    this.stop = h('button', { type: 'button', class: 'stop', hidden: true, onclick: () => this.engine.restart() }, 'Stop')
    this.tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Networks' })
    this.title = h('input', { type: 'text', class: 'name', 'aria-label': 'Name of the tab' })
    this.title.addEventListener('input', () => this.rename(this.title.value))
    const side = (name, title) => h('button', { type: 'button', 'data-side': name, 'aria-pressed': String(name === 'spec'), onclick: () => this.show(name) }, title)
    this.sides = h('div', { class: 'sides-switch', role: 'group', 'aria-label': 'Part of the page' }, side('spec', 'Spec'), side('result', 'Result'))
    const place = h('div', { class: 'editor' })
    document.getElementById('app').replaceChildren(
      h(
        'header',
        { class: 'bar' },
        h('h1', {}, 'netcalc'),
        h('button', { type: 'button', class: 'open', onclick: () => this.open.show() }, 'Open'),
        h('button', { type: 'button', class: 'save', onclick: () => this.save.show() }, 'Save and share'),
        this.loading,
        this.stop,
        this.sides,
        themeButton(() => graphColors()),
      ),
      h('main', { 'data-side': 'spec' }, h('section', { class: 'spec', 'aria-label': 'Spec' }, h('div', { class: 'tabbar' }, this.tabs, h('button', { type: 'button', class: 'new', 'aria-label': 'New network', title: 'New network', onclick: () => this.add(document_('my-network', FIRST)) }, '+')), place, this.problems.element), this.results.element),
      this.results.working.element,
      this.open.element,
      this.save.element,
      this.tensors.element,
    )
    this.editor = new Editor(place, {
      changed: (text) => this.typed(text),
      pressed: (path) => this.current().answer?.titles[path] && this.results.open(path, { ask: { path } }),
      complete: (text, position) => this.place('complete', text, { position }),
      hover: (text, position) => this.place('hover', text, { position }),
      describe: (name) => this.place('describe', this.current().text, { name }),
    })
    this.drops()
  }

  async start() {
    let shared = null
    try {
      shared = await documentOf(location.hash)
    } catch (error) {
      this.problems.say(`The link cannot be read: ${error.message}`)
    }
    const saved = kept()
    if (shared) this.documents = [document_(shared.name, shared.text, shared.options, true)]
    else if (saved) this.documents = saved.documents
    else this.documents = [document_('my-network', FIRST)]
    if (shared) history.replaceState(null, '', location.pathname + location.search)
    this.select(shared ? 0 : (saved?.at ?? 0))
  }

  current() {
    return this.documents[this.at]
  }

  ask(method, each, more = {}) {
    if (!each) return this.engine.ask(method)
    return this.engine.ask(method, { text: each.text, options: asked(each.options), ...more })
  }

  /** Ask about a place of the text; nothing is said where there is no answer. */
  async place(method, text, more) {
    try {
      return await this.ask(method, { text, options: this.current().options }, more)
    } catch (error) {
      if (error instanceof Refused || error instanceof Failed) return null
      throw error
    }
  }

  staged(stage) {
    if (stage instanceof Error) {
      this.loading.textContent = `netcalc cannot start: ${stage.message}`
      this.loading.classList.add('warn')
      return
    }
    this.loading.textContent = stage === null ? '' : `${stage} …`
    document.body.classList.toggle('ready', stage === null)
    if (stage === null) this.begun()
  }

  async begun() {
    this.keepOffline()
    this.choices ??= await this.engine.ask('choices')
    this.settings.choices = this.choices
    this.results.openers.places = this.choices.opened
  }

  keepOffline() {
    if (!('serviceWorker' in navigator) || this.offline) return
    this.offline = true
    navigator.serviceWorker.register('sw.js').catch(() => {})
  }

  show(side) {
    document.querySelector('main').dataset.side = side
    for (const button of this.sides.children) button.setAttribute('aria-pressed', String(button.dataset.side === side))
  }

  goTo(position) {
    this.show('spec')
    this.editor.go(position)
  }

  drawTabs() {
    const keys = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
      if (!step || event.target === this.title) return
      event.preventDefault()
      this.select((this.at + step + this.documents.length) % this.documents.length)
      this.tabs.querySelector('[aria-selected=true]').focus()
    }
    this.tabs.replaceChildren(
      ...this.documents.map((each, place) =>
        h('button', { type: 'button', role: 'tab', 'aria-selected': String(place === this.at), tabindex: place === this.at ? '0' : '-1', title: 'Double click to rename; Delete closes', onclick: () => this.select(place), ondblclick: () => this.askName(), onkeydown: (event) => (event.key === 'Delete' ? this.close(place) : event.key === 'F2' ? this.askName() : keys(event)) }, each.name),
      ),
    )
    this.closer?.remove()
    this.closer = h('button', { type: 'button', class: 'close', 'aria-label': `Close ${this.current().name}`, title: 'Close the tab', onclick: () => this.close(this.at) }, '×')
    if (this.documents.length > 1) this.tabs.after(this.closer)
  }

  askName() {
    this.title.value = this.current().name
    this.tabs.querySelector('[aria-selected=true]').replaceWith(this.title)
    this.title.focus()
    this.title.onblur = () => this.drawTabs()
    this.title.onkeydown = (event) => event.key === 'Enter' && this.drawTabs()
  }

  rename(name) {
    Object.assign(this.current(), { name: name.trim().slice(0, 100) || 'network', named: true })
    this.keep()
  }

  keep() {
    clearTimeout(this.keeping)
    this.keeping = setTimeout(() => keep(this.documents, this.at), 500)
  }

  add(each) {
    this.documents.push(each)
    this.select(this.documents.length - 1)
  }

  close(place) {
    if (this.documents.length === 1) return
    const [gone] = this.documents.splice(place, 1)
    this.editor.forget(gone.id)
    this.select(Math.min(this.at, this.documents.length - 1))
  }

  select(place) {
    this.at = place
    const each = this.current()
    this.results.working.close()
    this.editor.show(each.id, each.text)
    this.drawTabs()
    this.accept(each)
    this.keep()
    if (each.stale) this.count()
  }

  typed(text) {
    const each = this.current()
    if (!each || each.text === text) return
    each.text = text
    this.asked(each)
  }

  /** The text or the options of a document have changed: its figures are of an earlier one until it is counted. */
  asked(each) {
    each.stale = true
    each.changed = performance.now()
    this.problems.say('')
    if (each === this.current()) this.mark()
    this.keep()
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.count(), PAUSE)
  }

  mark() {
    const { answer, stale, problems: all, failure } = this.current()
    const problems = all.filter((problem) => problem.severity === 'error').length
    this.editor.view.dom.classList.toggle('old', stale || Boolean(failure))
    if (stale) this.results.mark(answer ? 'Figures of an earlier text; counting …' : 'Counting …', answer ? 'old' : '')
    else if (failure) this.results.mark(answer ? `Figures of an earlier text. ${failure}` : failure, answer ? 'old' : 'warn')
    else if (problems) this.results.mark(answer ? `Figures of an earlier text: this one has ${problems === 1 ? 'a problem' : `${problems} problems`}` : `The spec has ${problems === 1 ? 'a problem' : `${problems} problems`}`, answer ? 'old' : 'warn')
    else this.results.mark(`Counted as ${answer.summary.convention} does`)
  }

  /** Count the current document, and again while it changes meanwhile. */
  async count() {
    if (this.counting) return
    this.counting = true
    const patience = setTimeout(() => (this.stop.hidden = false), PATIENCE)
    try {
      while (this.current().stale) await this.countOnce(this.current())
    } finally {
      this.counting = false
      clearTimeout(patience)
      this.stop.hidden = true
    }
  }

  async countOnce(each) {
    const { text } = each
    const options = JSON.stringify(each.options)
    const same = () => each.text === text && JSON.stringify(each.options) === options
    let outcome
    try {
      if (isConfiguration(text)) {
        const spec = await specOf(text, this.engine)
        if (!same() || each !== this.current()) return
        Object.assign(each.options, spec.options)
        this.editor.replace(spec.text)
        this.problems.say(spec.note)
        return
      }
      const { network, problems, hints } = await this.ask('count', each)
      outcome = { problems, hints, failure: null, ...(network && { answer: network }) }
    } catch (error) {
      if (error instanceof Refused) outcome = { problems: error.errors, hints: [], failure: null }
      else if (error instanceof Failed) outcome = { problems: [], hints: [], failure: error.message === 'stopped' ? 'Stopped; change the spec to count again.' : `netcalc failed, which is a bug: ${error.message}` }
      else throw error
    }
    if (!same()) return
    Object.assign(each, outcome, { stale: false })
    this.nameOf(each)
    if (each === this.current()) this.accept(each)
    // from the change, or the beginning of the visit, to the answer
    performance.measure('answer', { start: each.changed ?? 0 })
  }

  /** Let a tab that nobody named have the name of its spec. */
  nameOf(each) {
    const title = each.answer?.title
    if (each.named || !title || title.startsWith('<') || title === each.name) return
    each.name = title.slice(0, 100)
    if (!this.title.isConnected) this.drawTabs()
  }

  /** Show what is known of a document. */
  accept(each) {
    if (!each.stale) {
      this.editor.problems(each.problems)
      this.editor.inlays(each.hints)
    }
    this.problems.draw(each.problems)
    this.mark()
    this.results.draw()
    if (isCurrent(each)) this.results.follow()
  }

  async openSpec(name) {
    this.add(document_(name, await this.engine.ask('spec', { name }), {}, true))
  }

  async openFiles(files) {
    try {
      let said = ''
      for (const { name, text, tensors, options, note } of await readFiles(files, this.engine)) {
        if (tensors) this.tensors.show(name, tensors)
        else this.add(document_(name, text, options, true))
        said ||= note
      }
      this.problems.say(said)
    } catch (error) {
      this.problems.say(error.message)
    }
  }

  async written(format) {
    const each = this.current()
    if (format === 'yaml') return each.text
    if (format === 'svg') {
      const graph = await this.ask('graph', each)
      return netcalcGraph.draw(netcalcGraph.collapse(graph, netcalcGraph.deeper(graph, 3)), { title: each.name })
    }
    return this.ask('written', each, { format: { md: 'markdown' }[format] ?? format })
  }

  async link() {
    return location.href.split('#')[0] + (await fragmentOf(this.current()))
  }

  drops() {
    const over = (event) => {
      if (![...(event.dataTransfer?.types ?? [])].includes('Files')) return
      event.preventDefault()
      document.body.classList.toggle('dropping', event.type === 'dragover')
      if (event.type === 'drop') this.openFiles([...event.dataTransfer.files])
    }
    for (const type of ['dragover', 'drop']) addEventListener(type, over, true)
    addEventListener('dragleave', () => document.body.classList.remove('dropping'))
  }
}

/** True if the figures of a document are those of its text. */
const isCurrent = ({ stale, failure, problems }) => !stale && !failure && problems.every((problem) => problem.severity !== 'error')

const page = new Page()
page.start()
