// The Markdown of netcalc's own texts: paragraphs, lists, code, bold and italic.  Texts become text nodes only.
import { h } from '../../netcalc/report/web/src/page/dom.js'

const INLINE = /(`+)(.+?)\1|\*\*(.+?)\*\*|\*(.+?)\*/g

function inline(text) {
  const parts = []
  let place = 0
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(place, match.index))
    const [whole, , code, bold, italic] = match
    parts.push(code !== undefined ? h('code', {}, code.trim()) : h(bold !== undefined ? 'b' : 'i', {}, bold ?? italic))
    place = match.index + whole.length
  }
  return [...parts, text.slice(place)]
}

/** The elements of a text. */
export function markdown(text) {
  return text.split(/\n{2,}/).map((part) => {
    const fence = /^```\w*\n([\s\S]*?)\n```$/.exec(part)
    if (fence) return h('pre', {}, fence[1])
    const lines = part.split('\n')
    const items = lines.filter((line) => line.startsWith('- '))
    const head = lines.filter((line) => !line.startsWith('- ')).join(' ')
    return [head && h('p', {}, inline(head)), items.length > 0 && h('ul', {}, items.map((line) => h('li', {}, inline(line.slice(2)))))]
  })
}
