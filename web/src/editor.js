// The editor: YAML, problems underlined at their columns, shapes at line ends, completion and hover text.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, pickedCompletion, snippet } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { EditorState, StateEffect, StateField } from '@codemirror/state'
import { Decoration, drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, hoverTooltip, keymap, lineNumbers, WidgetType } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { h } from '../../netcalc/report/web/src/page/dom.js'
import { markdown } from './markdown.js'

const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--quiet)', fontStyle: 'italic' },
  { tag: [tags.keyword, tags.typeName, tags.meta], color: 'var(--mark)' },
])

class Inlay extends WidgetType {
  constructor(text, run) {
    super()
    Object.assign(this, { text, run })
  }

  eq(other) {
    return other.text === this.text
  }

  toDOM() {
    return h('span', { class: 'inlay', 'aria-hidden': 'true', onmousedown: () => this.run() }, this.text)
  }

  ignoreEvent() {
    return true
  }
}

const setInlays = StateEffect.define()

const inlays = StateField.define({
  create: () => Decoration.none,
  update(shown, transaction) {
    let next = shown.map(transaction.changes)
    for (const effect of transaction.effects) {
      if (effect.is(setInlays)) next = Decoration.set(effect.value.map(([at, text, run]) => Decoration.widget({ widget: new Inlay(text, run), side: 1 }).range(at)), true)
    }
    return next
  },
  provide: (field) => EditorView.decorations.from(field),
})

/** Place of a line and a unit of UTF-16 in it, both from 0, in a document. */
export function placeOf(doc, [line, character]) {
  if (line >= doc.lines) return doc.length
  const at = doc.line(line + 1)
  return Math.min(at.from + character, at.to)
}

/** Line and unit of a place, as `placeOf` takes them. */
export function positionOf(doc, place) {
  const at = doc.lineAt(place)
  return [at.number - 1, place - at.from]
}

export class Editor {
  /** `on.changed(text)` is called after each change, `on.complete(text, position)` and `on.hover` are asked for texts. */
  constructor(parent, on) {
    this.on = on
    this.parent = parent
    this.view = new EditorView({ parent, state: this.state('') })
    this.states = new Map()
    this.shown = null
  }

  state(text) {
    return EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        highlightActiveLineGutter(),
        highlightSpecialChars(),
        history(),
        drawSelection(),
        indentOnInput(),
        indentUnit.of('  '),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        yaml(),
        EditorView.lineWrapping,
        syntaxHighlighting(colors),
        lintGutter(),
        inlays,
        autocompletion({ override: [(context) => this.completions(context)], activateOnTypingDelay: 150 }),
        hoverTooltip((view, place) => this.hover(view, place)),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap, indentWithTab]),
        EditorView.contentAttributes.of({ 'aria-label': 'Spec in YAML; Escape, then Tab leaves the editor', spellcheck: 'false' }),
        EditorView.updateListener.of((update) => update.docChanged && this.on.changed(update.state.doc.toString())),
      ],
    })
  }

  /** Show a document; its history and selection come back with it. */
  show(id, text) {
    if (this.shown !== null) this.states.set(this.shown, this.view.state)
    const known = this.states.get(id)
    this.shown = id
    this.view.setState(known && known.doc.toString() === text ? known : this.state(text))
  }

  forget(id) {
    this.states.delete(id)
    if (this.shown === id) this.shown = null
  }

  replace(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } })
  }

  /** Underline problems, and offer the fixes that come with them. */
  problems(problems) {
    const { doc } = this.view.state
    const found = problems.filter((problem) => problem.range).map((problem) => {
      const [from, to] = problem.range.map((position) => placeOf(doc, position))
      return {
        // a place without characters, as the end of a text, is underlined at its neighbour
        from: from === to && from > 0 && from === doc.length ? from - 1 : from,
        to: from === to ? Math.min(doc.length, from + 1) : to,
        severity: problem.severity === 'error' ? 'error' : 'warning',
        message: [`${problem.code}: ${problem.message}`, problem.hint].filter(Boolean).join('\n'),
        actions: problem.fixes.map((fix) => ({ name: fix.title, apply: () => this.apply(fix.edits) })),
      }
    })
    this.view.dispatch(setDiagnostics(this.view.state, found.sort((a, b) => a.from - b.from)))
  }

  /** Apply edits of ranges of lines. */
  apply(edits) {
    const { doc } = this.view.state
    const changes = edits.map(({ range: [from, to], text }) => ({ from: placeOf(doc, from), to: placeOf(doc, to), insert: text }))
    this.view.dispatch({ changes, userEvent: 'input.fix' })
    this.view.focus()
  }

  /** Show texts at the ends of lines: a list of line, text and path. */
  inlays(list) {
    const { doc } = this.view.state
    const places = list.filter(([line]) => line < doc.lines).map(([line, text, path]) => [doc.line(line + 1).to, text, () => this.on.pressed(path)])
    this.view.dispatch({ effects: setInlays.of(places.sort((a, b) => a[0] - b[0])) })
  }

  go(position) {
    const place = placeOf(this.view.state.doc, position)
    this.view.dispatch({ selection: { anchor: place }, effects: EditorView.scrollIntoView(place, { y: 'center' }) })
    this.view.focus()
  }

  async completions(context) {
    const { doc, pos } = { doc: context.state.doc, pos: context.pos }
    const before = context.state.sliceDoc(Math.max(0, pos - 1), pos)
    if (!context.explicit && !/[\w$]/.test(before)) return null
    const found = await this.on.complete(doc.toString(), positionOf(doc, pos))
    if (!found?.length || context.aborted) return null
    const from = placeOf(doc, found[0].edit.range[0])
    return { from, to: pos, options: found.map((each) => this.option(each)), validFor: /^[\w.\-/]*$/ }
  }

  option({ label, kind, detail, documentation, edit, snippet: template }) {
    const apply = (view, completion, _, to) => {
      const { doc } = view.state
      const start = placeOf(doc, edit.range[0])
      const end = Math.max(to, placeOf(doc, edit.range[1]))
      if (template && !template.includes('\\')) snippet(template.replace(/\$(\d+)/g, '${$1}'))(view, completion, start, end)
      else view.dispatch({ changes: { from: start, to: end, insert: edit.text }, selection: { anchor: start + edit.text.length }, annotations: pickedCompletion.of(completion), userEvent: 'input.complete' })
    }
    const info = async () => {
      const text = documentation || (['operation', 'block'].includes(kind) && (await this.on.describe(label)))
      return text ? h('div', { class: 'hover' }, markdown(text)) : null
    }
    const types = { operation: 'function', block: 'class', attribute: 'property', value: 'constant', spec: 'namespace' }
    return { label, type: types[kind] ?? 'variable', detail: detail.length > 60 ? `${detail.slice(0, 59)}…` : detail, apply, info }
  }

  async hover(view, place) {
    const { doc } = view.state
    const found = await this.on.hover(doc.toString(), positionOf(doc, place))
    if (!found || view.state.doc !== doc) return null
    const [from, to] = found.range.map((position) => placeOf(doc, position))
    return { pos: from, end: to, above: true, create: () => ({ dom: h('div', { class: 'hover' }, markdown(found.markdown)) }) }
  }
}
