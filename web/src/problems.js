// The list of problems below the editor; each leads to its place, and offers its fixes.
import { append, h } from '../../netcalc/report/web/src/page/dom.js'

export class Problems {
  /** `on.go(line, column)` shows a place, `on.fix(edits)` applies a fix. */
  constructor(on) {
    this.on = on
    this.list = h('ul')
    this.message = h('p', { class: 'warn', role: 'alert' })
    this.element = h('div', { class: 'problems', role: 'region', 'aria-label': 'Problems', tabindex: '0' }, this.message, this.list)
  }

  say(text) {
    this.message.textContent = text
  }

  draw(errors) {
    this.list.replaceChildren(...errors.slice(0, 100).map((error) => this.row(error)))
    this.element.classList.toggle('none', !errors.length)
  }

  row(error) {
    const { at } = error
    const place = at && (error.own ? `${at.line}:${at.column}` : [at.file, at.line && `${at.line}:${at.column}`, at.path].filter(Boolean).join(':'))
    const head = [h('b', {}, error.code), place && ` ${place}`, ` ${error.message}`]
    const row = h('li', { class: error.code.startsWith('W') ? 'warning' : 'error', 'data-code': error.code })
    append(row, [
      error.own ? h('button', { type: 'button', class: 'place', onclick: () => this.on.go(at.line, at.column) }, head) : h('span', {}, head),
      error.hint && h('div', { class: 'quiet' }, error.hint),
      error.related?.map((fact) => h('div', { class: 'quiet' }, fact.text)),
      error.fixes.map((fix) => h('button', { type: 'button', class: 'fix', onclick: () => this.on.fix(fix.edits) }, fix.title)),
    ])
    return row
  }
}
