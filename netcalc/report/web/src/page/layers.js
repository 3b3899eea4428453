// The table of layers: sorted, filtered and searched, with a bar by share, and copied as CSV.
import { h, path, shown } from './dom.js'
import { exact, isNumber, measured, order, percent, shapes } from './numbers.js'
import { figuresOf, figureText, titleOf } from './names.js'
import { NOWHERE } from './places.js'
import { derived, opener } from './working.js'

// a text that a spreadsheet would evaluate begins with an apostrophe, as in the CSV that commands write
const quoted = (value) => {
  const plain = value === null || value === undefined ? '' : shown(value)
  const text = /^[=+@-]/.test(plain) && !isNumber(value) ? `'${plain}` : plain
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    // pages from files may lack the clipboard
    const area = h('textarea', { class: 'offscreen', 'aria-hidden': 'true' })
    area.value = text
    document.body.append(area)
    area.select()
    document.execCommand('copy')
    area.remove()
  }
}

class Layers {
  constructor(network, place, openers, go) {
    Object.assign(this, { network, place, openers, go })
    const { layers } = network.summary
    this.figures = figuresOf(layers).filter((name) => layers.some((layer) => layer[name] !== 0))
    this.shared = Object.keys(network.shares)
    this.share = ['flops_total', 'flops', 'macs', 'params'].find((name) => this.shared.includes(name))
    this.rows = layers.map((layer, row) => ({ layer, row, label: network.workings.layers[layer.path]?.path ?? layer.path }))
    this.sorted = { key: null, down: true }
    this.text = ''
    this.op = ''
    this.status = h('span', { role: 'status', class: 'quiet' })
    this.head = h('thead')
    this.body = h('tbody')
  }

  columns() {
    const share = this.network.shares[this.share] ?? []
    const exactOf = (name) => ({ key: name, title: titleOf(name), number: true, of: (row) => row.layer[name], draw: (row) => this.figure(row, name) })
    return [
      { key: 'path', title: 'Layer', of: (row) => row.row, draw: (row) => this.link(row) },
      { key: 'op', title: 'Operation', of: (row) => row.layer.op, draw: (row) => row.layer.op },
      { key: 'repeat', title: '×', number: true, of: (row) => row.layer.repeat, draw: (row) => (row.layer.repeat > 1 ? `×${exact(row.layer.repeat)}` : '') },
      this.share && { key: 'share', title: `Share of ${titleOf(this.share)}`, number: true, of: (row) => share[row.row], draw: (row) => this.bar(row, share[row.row]) },
      { key: 'outputs', title: 'Output', of: (row) => shapes(row.layer.outputs), draw: (row) => this.shape(row) },
      ...this.figures.map(exactOf),
    ].filter(Boolean)
  }

  working(row, place = NOWHERE, value = null) {
    this.go(`layer=${this.place}:${encodeURIComponent(row.layer.path)}`)
    this.openers.panel.open(row.label, this.network.workings.layers[row.layer.path], place, value)
  }

  link(row) {
    const run = (event) => {
      event.preventDefault()
      this.working(row)
    }
    return h('a', { href: `#layer=${this.place}:${encodeURIComponent(row.layer.path)}`, class: 'mono path', onclick: run }, path(row.label))
  }

  shape(row) {
    const text = shapes(row.layer.outputs)
    return h('span', { class: 'mono' }, opener(text.length > 24 ? `${text.slice(0, 23)}…` : text, () => this.working(row, { sections: ['shape'], steps: 'output*' }), `Shape ${text}`))
  }

  figure(row, name) {
    const value = row.layer[name]
    if (value === 0) return h('span', { class: 'quiet' }, '0')
    if (value === null || value === undefined) return '–'
    const place = this.openers.place('summary', `layers.*.${name}`, row.layer)
    if (place.reason === 'numbering') return exact(value)
    return opener(figureText(name, value), () => this.working(row, place, value), exact(value))
  }

  bar(row, share) {
    const width = typeof share === 'number' ? Math.min(100, 100 * share) : 0
    const bar = h('span', { class: 'bar', 'aria-hidden': 'true' }, h('span', { style: { width: `${width}%` } }))
    return h('span', { class: 'share' }, bar, h('span', { class: 'percent' }, share ? opener(percent(share), () => this.shareOf(row, share), measured(share)) : percent(share)))
  }

  /** The working of a share: of all instances of a layer, in the total. */
  shareOf({ label, layer }, share) {
    const [name, value, total] = [titleOf(this.share), layer[this.share], this.network.summary.totals[this.share]]
    const times = layer.repeat > 1 ? `${exact(layer.repeat)}·` : ''
    this.openers.panel.open(`Share of ${name}: ${label}`, derived(`Figures of all instances of a layer, as a share of the total of ${name}.`, [`${name} of one instance`, value], ['Total', total], ['Share', share, `${times}${exact(value)} / ${exact(total)}`]))
  }

  kept() {
    const words = this.text.toLowerCase().split(/\s+/).filter(Boolean)
    const rows = this.rows.filter(
      (row) => (!this.op || row.layer.op === this.op) && words.every((word) => `${row.label} ${row.layer.path} ${row.layer.op}`.toLowerCase().includes(word)),
    )
    const column = this.columns().find((each) => each.key === this.sorted.key)
    if (!column) return rows
    const sign = this.sorted.down ? -1 : 1
    return [...rows].sort((a, b) => sign * order(column.of(a), column.of(b)) || a.row - b.row)
  }

  csv() {
    const names = ['path', 'op', 'repeat', 'inputs', 'outputs', ...this.figures]
    const line = ({ layer, row }) => [layer.path, layer.op, layer.repeat, shapes(layer.inputs), shapes(layer.outputs), ...this.figures.map((name) => layer[name]), ...(this.share ? [this.network.shares[this.share][row]] : [])]
    const lines = [[...names, ...(this.share ? [`share_${this.share}`] : [])], ...this.kept().map(line)]
    return lines.map((cells) => cells.map(quoted).join(',')).join('\n') + '\n'
  }

  sort(column) {
    const same = this.sorted.key === column.key
    const first = column.number === true
    if (same && this.sorted.down !== first) this.sorted = { key: null, down: true }
    else this.sorted = { key: column.key, down: same ? !this.sorted.down : first }
    this.draw()
    this.head.querySelector(`[data-key="${column.key}"]`)?.focus()
  }

  draw() {
    const columns = this.columns()
    const sorted = (column) => (this.sorted.key === column.key ? (this.sorted.down ? 'descending' : 'ascending') : null)
    const sign = (column) => ({ descending: ' ↓', ascending: ' ↑' })[sorted(column)] ?? ''
    const kind = (column) => (column.number ? 'num' : null)
    this.head.replaceChildren(
      h(
        'tr',
        {},
        columns.map((column) =>
          h('th', { scope: 'col', class: kind(column), 'aria-sort': sorted(column) }, h('button', { type: 'button', 'data-key': column.key, onclick: () => this.sort(column) }, column.title + sign(column))),
        ),
      ),
    )
    const rows = this.kept()
    this.body.replaceChildren(...rows.map((row) => h('tr', { 'data-path': row.layer.path }, columns.map((column) => h('td', { class: kind(column) }, column.draw(row))))))
    this.status.textContent = rows.length === this.rows.length ? `${exact(rows.length)} layers` : `${exact(rows.length)} of ${exact(this.rows.length)} layers`
  }

  element() {
    const ops = [...new Set(this.rows.map((row) => row.layer.op))].sort()
    const search = h('input', { type: 'search', placeholder: 'Search layers', 'aria-label': 'Search layers', class: 'search' })
    search.addEventListener('input', () => {
      this.text = search.value
      this.draw()
    })
    const select = (label, options, value, set) => {
      const element = h('select', { 'aria-label': label }, options.map(([key, title]) => h('option', { value: key, selected: key === value }, title)))
      element.addEventListener('change', () => {
        set(element.value)
        this.draw()
      })
      return element
    }
    const button = h('button', { type: 'button', class: 'copy' }, 'Copy as CSV')
    button.addEventListener('click', async () => {
      await copy(this.csv())
      button.textContent = 'Copied'
      setTimeout(() => (button.textContent = 'Copy as CSV'), 1500)
    })
    this.draw()
    return [
      h(
        'div',
        { class: 'tools' },
        search,
        select('Operation', [['', 'All operations'], ...ops.map((op) => [op, op])], '', (op) => (this.op = op)),
        this.shared.length > 1 && select('Share of', this.shared.map((name) => [name, `Share of ${titleOf(name)}`]), this.share, (name) => (this.share = name)),
        button,
        this.status,
      ),
      h('div', { class: 'scroll tall', tabindex: '0', role: 'region', 'aria-label': 'Layers' }, h('table', { class: 'layers' }, this.head, this.body)),
      h('p', { class: 'quiet' }, 'Figures of a row count one instance, shares all of them.'),
    ]
  }
}

export function layers(network, place, openers, go) {
  const table = new Layers(network, place, openers, go)
  return { nodes: table.element(), csv: () => table.csv(), show: (path) => show(table, path) }
}

function show(table, path) {
  const row = table.rows.find((each) => each.layer.path === path)
  if (!row) return false
  table.working(row)
  const line = [...table.body.children].find((each) => each.dataset.path === path)
  for (const other of table.body.querySelectorAll('.asked')) other.classList.remove('asked')
  line?.classList.add('asked')
  line?.scrollIntoView({ block: 'center' })
  return true
}
