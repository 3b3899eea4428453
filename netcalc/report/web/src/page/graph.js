// The architecture as a graph that opens and closes: zoom, pan, search.  `netcalcGraph` lays it out and draws it.
import { h } from './dom.js'
import { exact, shape } from './numbers.js'
import { isDark } from './theme.js'

/** Boxes that are drawn at first, and those that are drawn without being asked for. */
const FIRST = 40
const MOST = 400

const sheet = new CSSStyleSheet()

/** Colors of graphs, by the theme of the page. */
export function graphColors() {
  sheet.replaceSync(netcalcGraph.style({ dark: isDark() }))
  if (!document.adoptedStyleSheets.includes(sheet)) document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
}

/** Make an element of a picture a button, by mouse and keys. */
function press(element, label, run) {
  element.classList.add('press')
  element.setAttribute('tabindex', '0')
  element.setAttribute('role', 'button')
  // its texts are its name
  element.setAttribute('aria-description', label)
  element.addEventListener('click', run)
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return
    event.preventDefault()
    run()
  })
}

class GraphView {
  constructor(network, place, openers, go) {
    Object.assign(this, { network, place, go, open: openers.panel.open })
    this.graph = network.graph
    this.paths = new Map(this.graph.nodes.map((node) => [node.id, node.path]))
    this.groups = new Map(this.graph.groups.map((group) => [group.id, group]))
    this.scale = 1
    this.found = []
    this.at = -1
    this.direction = 'TB'
    this.closed = this.atMost(FIRST)
    this.canvas = h('div', { class: 'canvas', tabindex: '0', role: 'region', 'aria-label': 'Graph; scroll to move, + and - to zoom' })
    this.status = h('span', { role: 'status', class: 'quiet' })
    this.listen()
  }

  boxes(closed) {
    return netcalcGraph.collapse(this.graph, closed)
  }

  atMost(most) {
    for (let depth = this.graph.levels; depth > 1; depth -= 1) {
      const closed = netcalcGraph.deeper(this.graph, depth)
      if (this.boxes(closed).nodes.length <= most) return closed
    }
    return netcalcGraph.deeper(this.graph, 1)
  }

  draw(asked = false) {
    const shown = this.boxes(this.closed)
    if (shown.nodes.length > MOST && !asked) {
      const button = h('button', { type: 'button', onclick: () => this.draw(true) }, `Draw ${exact(shown.nodes.length)} boxes`)
      this.canvas.replaceChildren(button)
      return
    }
    const text = netcalcGraph.draw(shown, { background: false, marked: true, direction: this.direction, title: this.network.title })
    // its own rules are those of `graphColors`: the policy of the page allows no element with styles
    this.canvas.innerHTML = text.replace(/<style>[^<]*<\/style>/, '')
    this.svg = this.canvas.querySelector('svg')
    // a picture would hide what can be pressed in it
    this.svg.setAttribute('role', 'group')
    this.size = [Number(this.svg.getAttribute('width')), Number(this.svg.getAttribute('height'))]
    for (const element of this.svg.querySelectorAll('.node, .group')) this.enable(element, shown)
    for (const element of this.svg.querySelectorAll('.figures')) this.opening(element)
    for (const element of this.svg.querySelectorAll('.label')) this.shaped(element, shown.edges[element.dataset.edge])
    this.zoom(1, this.scale)
    this.status.textContent = `${exact(shown.nodes.length)} boxes`
    this.mark()
  }

  /** Make a box or the heading of a group something to press. */
  enable(element, shown) {
    const id = element.dataset.id
    const node = shown.nodes.find((each) => each.id === id)
    let run = null
    let label = ''
    if (this.groups.has(id)) {
      const group = this.groups.get(id)
      label = `${node ? 'Open' : 'Close'} ${group.path}`
      run = () => this.toggle(id)
      element.setAttribute('aria-keyshortcuts', 'w')
      element.addEventListener('keydown', (event) => event.key === 'w' && this.block(group))
    } else if (this.network.workings.layers[node?.path]) {
      label = `Working of ${node.path}`
      run = () => this.layer(node.path)
    }
    if (!run) return
    if (this.groups.has(id)) element.setAttribute('aria-expanded', String(!node))
    press(element, label, () => !this.moved && run())
  }

  /** Let a click on the figures of a block open their working, while one on the block opens or closes it. */
  opening(element) {
    const group = this.groups.get(element.closest('[data-id]').dataset.id)
    if (!group) return
    element.addEventListener('click', (event) => {
      event.stopPropagation()
      if (!this.moved) this.block(group)
    })
  }

  /** Make the shape of a tensor open its working in the layer that gives it; the shapes of inputs are given. */
  shaped(element, { of, shape: sizes, dtype }) {
    const path = this.paths.get(of)
    if (!this.network.workings.layers[path]) return
    const place = { sections: ['shape'], steps: 'output*', value: `${shape(sizes)} ${dtype}` }
    press(element, `Working of the shape, in ${path}`, () => !this.moved && this.layer(path, place))
  }

  layer(path, place) {
    this.go(`layer=${this.place}:${encodeURIComponent(path)}`)
    this.open(path, this.network.workings.layers[path], place)
  }

  block(group) {
    const working = this.network.workings.blocks[group.path]
    if (working) this.open(group.path, working)
  }

  toggle(id) {
    if (this.closed.has(id)) this.closed.delete(id)
    else this.closed.add(id)
    this.draw()
    this.show(this.svg?.querySelector(`[data-id="${CSS.escape(id)}"], .node`), id)
  }

  show(element, id = null) {
    if (!element) return
    const box = element.getBoundingClientRect()
    const frame = this.canvas.getBoundingClientRect()
    this.canvas.scrollBy(box.left - frame.left - Math.max(20, (frame.width - box.width) / 2), box.top - frame.top - Math.max(20, (frame.height - box.height) / 2))
    if (id !== null) element.focus({ preventScroll: true })
  }

  /** Bring the first box to the middle of the frame, where a graph is wider than it. */
  center() {
    const first = this.svg?.querySelector('.node')
    if (!first) return
    const [box, frame] = [first.getBoundingClientRect(), this.canvas.getBoundingClientRect()]
    this.canvas.scrollLeft += box.left + box.width / 2 - frame.left - frame.width / 2
  }

  zoom(factor, scale = this.scale * factor) {
    this.scale = Math.min(4, Math.max(0.1, scale))
    if (!this.svg) return
    const [width, height] = this.size.map((size) => Math.round(size * this.scale))
    this.svg.setAttribute('width', width)
    this.svg.setAttribute('height', height)
  }

  fit() {
    if (!this.size) return
    this.zoom(1, Math.min(1, (this.canvas.clientWidth - 24) / this.size[0], (this.canvas.clientHeight - 24) / this.size[1]))
  }

  search(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean)
    const all = [...this.graph.nodes, ...this.graph.groups]
    this.found = words.length ? all.filter((item) => words.every((word) => `${item.path} ${item.name} ${item.op}`.toLowerCase().includes(word))) : []
    this.at = -1
    if (this.found.length) this.next()
    else {
      this.mark()
      if (words.length) this.status.textContent = 'Nothing found'
    }
  }

  /** Open the groups around the next box that is found, and bring it into view. */
  next() {
    if (!this.found.length) return
    this.at = (this.at + 1) % this.found.length
    const item = this.found[this.at]
    for (let group = item.group; group !== null; group = this.groups.get(group).group) this.closed.delete(group)
    this.draw()
    this.status.textContent = `${exact(this.at + 1)} of ${exact(this.found.length)} found`
    this.show(this.element(item.id))
  }

  element(id) {
    return this.canvas.querySelector(`[data-id="${CSS.escape(id)}"]`)
  }

  mark() {
    for (const element of this.canvas.querySelectorAll('.found')) element.classList.remove('found')
    if (this.at >= 0 && this.found.length) this.element(this.found[this.at].id)?.classList.add('found')
  }

  listen() {
    this.canvas.addEventListener('keydown', (event) => {
      if (event.key === '+' || event.key === '=') this.zoom(1.25)
      else if (event.key === '-') this.zoom(0.8)
      else if (event.key === '0') this.zoom(1, 1)
      else return
      event.preventDefault()
    })
    this.canvas.addEventListener(
      'wheel',
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return
        event.preventDefault()
        this.zoom(event.deltaY < 0 ? 1.1 : 1 / 1.1)
      },
      { passive: false },
    )
    // panning with the mouse; touch and keys scroll
    let from = null
    this.canvas.addEventListener('pointerdown', (event) => {
      this.moved = false
      if (event.pointerType === 'mouse' && event.button === 0) from = [event.clientX, event.clientY, this.canvas.scrollLeft, this.canvas.scrollTop]
    })
    addEventListener('pointermove', (event) => {
      if (!from) return
      const [x, y] = [event.clientX - from[0], event.clientY - from[1]]
      if (Math.abs(x) + Math.abs(y) > 4) this.moved = true
      if (this.moved) this.canvas.scrollTo(from[2] - x, from[3] - y)
    })
    addEventListener('pointerup', () => (from = null))
  }

  nodes() {
    const search = h('input', { type: 'search', placeholder: 'Search the graph', 'aria-label': 'Search the graph', class: 'search' })
    search.addEventListener('input', () => this.search(search.value))
    search.addEventListener('keydown', (event) => event.key === 'Enter' && this.next())
    const button = (text, label, run) => h('button', { type: 'button', 'aria-label': label, title: label, onclick: run }, text)
    const to = (closed) => {
      this.closed = closed
      this.draw()
    }
    this.draw()
    requestAnimationFrame(() => this.center())
    return [
      h(
        'div',
        { class: 'tools' },
        search,
        button('Open all', 'Open all blocks', () => to(new Set())),
        button('Close all', 'Close all blocks', () => to(netcalcGraph.deeper(this.graph, 1))),
        button('⇄', 'Change the direction', () => {
          this.direction = this.direction === 'TB' ? 'LR' : 'TB'
          this.draw()
        }),
        button('−', 'Zoom out', () => this.zoom(0.8)),
        button('+', 'Zoom in', () => this.zoom(1.25)),
        button('Fit', 'Fit the graph into its frame', () => this.fit()),
        this.status,
      ),
      this.canvas,
      h('p', { class: 'quiet' }, 'A click on a block opens or closes it; on its figures, or W, shows their working, as a click on an operation or a shape does. ×N is a block that is repeated.'),
    ]
  }
}

export function graph(network, place, openers, go) {
  return new GraphView(network, place, openers, go).nodes()
}
