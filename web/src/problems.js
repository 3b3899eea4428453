// The list of problems below the editor; each leads to its place, and offers its fixes.
import { append, h } from '../../netcalc/report/web/src/page/dom.js'

export class Problems {
  /** `on.go(position)` shows a place, `on.fix(edits)` applies a fix. */
  constructor(on) {
    this.on = on
    this.list = h('ul')
    this.message = h('p', { class: 'warn', role: 'alert' })
    this.element = h('div', { class: 'problems', role: 'region', 'aria-label': 'Problems', tabindex: '0' }, this.message, this.list)
  }

  say(text) {
    this.message.textContent = text
  }

  draw(problems) {
    this.list.replaceChildren(...problems.map((problem) => this.row(problem)))
    this.element.classList.toggle('none', !problems.length)
  }

  row(problem) {
    const head = [h('b', {}, problem.code), problem.place && ` ${problem.place}`, ` ${problem.message}`]
    const row = h('li', { class: problem.severity, 'data-code': problem.code })
    append(row, [
      problem.range ? h('button', { type: 'button', class: 'place', onclick: () => this.on.go(problem.range[0]) }, head) : h('span', {}, head),
      problem.hint && h('div', { class: 'quiet' }, problem.hint),
      problem.notes.map((note) => h('div', { class: 'quiet' }, note)),
      problem.fixes.map((fix) => h('button', { type: 'button', class: 'fix', onclick: () => this.on.fix(fix.edits) }, fix.title)),
    ])
    return row
  }
}
