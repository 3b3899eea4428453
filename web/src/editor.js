// The editor: YAML, problems underlined at their columns, shapes at line ends, completion and hover text.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { EditorState, StateEffect, StateField } from '@codemirror/state'
import { Decoration, drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, hoverTooltip, keymap, lineNumbers, WidgetType } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { h } from '../../netcalc/report/web/src/page/dom.js'

const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--quiet)', fontStyle: 'italic' },
  { tag: [tags.keyword, tags.typeName, tags.meta], color: 'var(--mark)' },
])

class Inlay extends WidgetType {
  constructor(text) {
    super()
    this.text = text
  }

  eq(other) {
    return other.text === this.text
  }

  toDOM() {
    return h('span', { class: 'inlay', 'aria-hidden': 'true' }, this.text)
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
      if (effect.is(setInlays)) next = Decoration.set(effect.value.map(([at, text]) => Decoration.widget({ widget: new Inlay(text), side: 1 }).range(at)), true)
    }
    return next
  },
  provide: (field) => EditorView.decorations.from(field),
})

/** Place of a line and column, which count from 1 in characters of Unicode, in a document of UTF-16. */
export function placeOf(text, line, column) {
  if (line < 1) return 0
  if (line > text.lines) return text.length
  const at = text.line(line)
  let place = 0
  for (let count = 1; count < column && place < at.length; count += 1) place += at.text.codePointAt(place) > 0xffff ? 2 : 1
  return at.from + place
}

/** Line and column of a place, as `placeOf` takes them. */
export function columnOf(text, place) {
  const at = text.lineAt(place)
  return [at.number, [...at.text.slice(0, place - at.from)].length + 1]
}

export class Editor {
  /** `on.changed(text)` is called after each change, `on.complete(line, column)` and `on.hover` are asked for texts. */
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
  problems(errors) {
    const { doc } = this.view.state
    const found = errors.filter((error) => error.at?.line && error.own).map((error) => {
      const from = placeOf(doc, error.at.line, error.at.column)
      const to = Math.max(from, placeOf(doc, error.at.line, error.at.end))
      const text = [`${error.code}: ${error.message}`, error.hint].filter(Boolean).join('\n')
      return {
        from: from === to && from > 0 && from === doc.length ? from - 1 : from,
        to: from === to ? Math.min(doc.length, from + 1) : to,
        severity: error.code.startsWith('W') ? 'warning' : 'error',
        message: text,
        actions: error.fixes.map((fix) => ({ name: fix.title, apply: () => this.apply(fix.edits) })),
      }
    })
    this.view.dispatch(setDiagnostics(this.view.state, found.sort((a, b) => a.from - b.from)))
  }

  /** Apply edits of ranges of lines and columns. */
  apply(edits) {
    const { doc } = this.view.state
    const changes = edits.map(({ from, to, text }) => ({ from: placeOf(doc, ...from), to: placeOf(doc, ...to), insert: text }))
    this.view.dispatch({ changes, userEvent: 'input.fix' })
    this.view.focus()
  }

  /** Show texts at the ends of lines: a list of line and text. */
  inlays(list) {
    const { doc } = this.view.state
    const places = list.filter(([line]) => line >= 1 && line <= doc.lines).map(([line, text]) => [doc.line(line).to, text])
    this.view.dispatch({ effects: setInlays.of(places.sort((a, b) => a[0] - b[0])) })
  }

  go(line, column) {
    const place = placeOf(this.view.state.doc, line, column)
    this.view.dispatch({ selection: { anchor: place }, effects: EditorView.scrollIntoView(place, { y: 'center' }) })
    this.view.focus()
  }

  async completions(context) {
    const word = context.matchBefore(/[\w.\-/]*/)
    if (!context.explicit && word.from === word.to && !/[:{ \-,$]$/.test(context.state.sliceDoc(Math.max(0, context.pos - 1), context.pos))) return null
    const { doc } = context.state
    const found = await this.on.complete(doc.toString(), ...columnOf(doc, context.pos))
    if (!found || !found.options.length || context.aborted) return null
    const from = found.from ? placeOf(doc, ...found.from) : word.from
    return { from, options: found.options, validFor: /^[\w.\-/]*$/ }
  }

  async hover(view, place) {
    const { doc } = view.state
    const found = await this.on.hover(doc.toString(), ...columnOf(doc, place))
    if (!found) return null
    return { pos: place, above: true, create: () => ({ dom: h('div', { class: 'hover' }, found) }) }
  }
}

