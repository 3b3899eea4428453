// Layout: every group is laid out on its own and is one box of the group around it.  Edges enter and leave a group by
// ports on its border, so that no line and no label can meet a box that is not its end.
import { Graph, layout as dagre } from '@dagrejs/dagre'
import { headingOf, labelOf, linesOf, NODE } from './labels.js'

const NODE_GAP = 28
const EDGE_GAP = 14
const RANK_GAP = 34
const PADDING = 14
const HEADING_GAP = 8
const PORT_GAP = 12
const MOST_CENTERING = 160

/**
 * Places and sizes of all that is drawn of a graph, in pixels from the upper left corner.
 *
 * graph: a record `netcalc/graph/1`.  options: direction ('TB' or 'LR') and show, the figures ('params', 'macs').
 * The result has width, height, nodes (id, x, y, width, height, lines), groups (id, x, y, width, height, texts) and
 * edges: pieces of lines from border to border, each with points, the ends (`from` and `to`, ids of boxes), `of` (places
 * of its tensors in graph.edges), an arrow or not, and a label (text, x, y, width, height) or null.
 */
export function layout(graph, { direction = 'TB', show = ['params', 'macs'] } = {}) {
  const tree = new Tree(graph, direction === 'LR', show)
  const root = tree.box(null)
  const result = { width: root.width + 2 * PADDING, height: root.height + 2 * PADDING, direction, nodes: [], groups: [], edges: [] }
  root.place(PADDING, PADDING, result)
  if (direction === 'LR') transpose(result)
  return result
}

class Tree {
  constructor(graph, across, show) {
    Object.assign(this, { graph, across, show })
    this.parent = new Map()
    this.children = new Map([[null, []]])
    this.order = new Map()
    for (const group of graph.groups) this.children.set(group.id, [])
    graph.nodes.forEach((node, place) => this.order.set(node.id, place))
    for (const item of [...graph.groups, ...graph.nodes]) {
      this.parent.set(item.id, item.group)
      this.children.get(item.group)?.push(item)
    }
    // a group has the order of its first box
    for (const node of graph.nodes)
      for (let id = node.group; id !== null; id = this.parent.get(id)) if (!this.order.has(id)) this.order.set(id, this.order.get(node.id))
    for (const items of this.children.values()) items.sort((a, b) => this.order.get(a.id) - this.order.get(b.id))
    this.pieces = new Map([...this.children.keys()].map((id) => [id, new Pieces()]))
    const labelled = new Set()
    const byTarget = graph.edges.map((edge, place) => ({ edge, place }))
    byTarget.sort((a, b) => Math.abs(this.order.get(a.edge.target) - this.order.get(a.edge.source)) - Math.abs(this.order.get(b.edge.target) - this.order.get(b.edge.source)))
    for (const { edge, place } of byTarget) this.split(edge, place, labelled)
  }

  around(id) {
    const groups = []
    for (let group = this.parent.get(id); group !== null; group = this.parent.get(group)) groups.push(group)
    return [...groups, null]
  }

  /** Cuts an edge at the borders of groups: upwards to the group around both ends, and down to its target. */
  split(edge, place, labelled) {
    const above = this.around(edge.source)
    const below = this.around(edge.target)
    const common = above.find((group) => below.includes(group))
    const value = JSON.stringify([edge.source, edge.shape, edge.dtype])
    const [start, end] = [this.childOf(common, edge.source), this.childOf(common, edge.target)]
    const reversed = this.order.get(start) > this.order.get(end)
    const text = labelled.has(value) ? '' : labelOf(edge)
    labelled.add(value)
    let from = edge.source
    for (const group of above) {
      if (group === common) break
      const port = `${value} ${reversed ? 'up' : 'down'}`
      this.pieces.get(group).add({ from, to: { port, leaving: true }, value, reversed, place, text: '' })
      from = group
    }
    const pieces = this.pieces.get(common)
    pieces.add({ from: start, to: end, value, reversed, place, text })
    let inner = end
    for (const group of below.slice(0, below.indexOf(common)).reverse()) {
      const port = `${value} ${reversed ? 'up' : 'down'}`
      inner = this.childOf(group, edge.target)
      this.pieces.get(group).add({ from: { port, leaving: false }, to: inner, value, reversed, place, text: '' })
    }
  }

  childOf(group, id) {
    let child = id
    while (this.parent.get(child) !== group) child = this.parent.get(child)
    return child
  }

  box(id) {
    return new Box(this, id)
  }

  /** Width and height, exchanged where ranks go from left to right. */
  size(width, height) {
    return this.across ? { width: height, height: width } : { width, height }
  }
}

/** Pieces of edges in a group, those with the same ends and value once. */
class Pieces {
  constructor() {
    this.byKey = new Map()
  }

  add(piece) {
    const name = (end) => (typeof end === 'string' ? end : `${end.leaving} ${end.port}`)
    const key = JSON.stringify([name(piece.from), name(piece.to), piece.value ?? '', piece.reversed])
    const known = this.byKey.get(key)
    if (known) {
      known.of.push(piece.place)
      known.text ||= piece.text
    } else this.byKey.set(key, { ...piece, of: [piece.place] })
  }

  get all() {
    return [...this.byKey.values()]
  }
}

/** A group, or the whole picture, with its children laid out: ranks go downwards here. */
class Box {
  constructor(tree, id) {
    this.id = id
    this.tree = tree
    this.item = tree.graph.groups.find((group) => group.id === id)
    this.children = new Map()
    this.ports = new Map()
    this.pieces = tree.pieces.get(id).all
    const graph = this.arranged()
    this.ranks = ranksOf(graph)
    this.read(graph)
    this.route(graph)
    this.frame(graph.graph())
  }

  arranged() {
    const graph = new Graph({ multigraph: true })
    graph.setGraph({ nodesep: NODE_GAP, edgesep: EDGE_GAP, ranksep: RANK_GAP, ranker: 'network-simplex' })
    graph.setDefaultEdgeLabel(() => ({}))
    for (const item of this.tree.children.get(this.id)) {
      const group = this.tree.children.has(item.id)
      const inner = group ? this.tree.box(item.id) : new Leaf(this.tree, item)
      this.children.set(item.id, inner)
      graph.setNode(item.id, { width: inner.width, height: inner.height })
    }
    this.pieces.forEach((piece, place) => {
      const [from, to] = [this.end(graph, piece.from), this.end(graph, piece.to)]
      const [upper, lower] = piece.reversed ? [to, from] : [from, to]
      const label = piece.text ? labelSize(this.tree, piece.text) : { width: 0, height: 0 }
      const straight = typeof piece.from === 'string' && typeof piece.to === 'string' ? 2 : 1
      graph.setEdge(upper, lower, { ...label, labelpos: 'c', weight: straight }, String(place))
    })
    this.pin(graph)
    dagre(graph)
    return graph
  }

  /** The name of an end in the graph; a port is added with its first line. */
  end(graph, end) {
    if (typeof end === 'string') return end
    const name = `port ${end.leaving} ${end.port}`
    if (!this.ports.has(name)) {
      // the lines of an edge that goes back leave a group upwards
      const top = end.leaving === end.port.endsWith('up')
      this.ports.set(name, { key: `${end.leaving} ${end.port}`, top })
      graph.setNode(name, { width: 1, height: 0 })
    }
    return name
  }

  /**
   * Holds ports at the upper and the lower border, by edges without weight that are not drawn, where anything else
   * begins or ends there.
   */
  pin(graph) {
    for (const top of [true, false]) {
      const ports = [...this.ports].filter(([, port]) => port.top === top).map(([name]) => name)
      const edges = (name) => (top ? graph.inEdges(name) : graph.outEdges(name))
      const names = [...this.children.keys()].filter((name) => edges(name).length === 0)
      if (ports.length + names.length < 2 || !ports.length) continue
      const hold = top ? 'hold top' : 'hold bottom'
      graph.setNode(hold, { width: 0, height: 0 })
      const join = (name, weight, minlen) => {
        const [upper, lower] = top ? [hold, name] : [name, hold]
        graph.setEdge(upper, lower, { width: 0, height: 0, weight, minlen }, `hold ${name}`)
      }
      for (const name of ports) join(name, 1000, 1)
      for (const name of names) join(name, 0, 2)
    }
  }

  /** Reads the places of children and ports. */
  read(graph) {
    for (const [name, child] of this.children) {
      const { x, y, width, height } = graph.node(name)
      Object.assign(child, { x: x - width / 2, y: y - height / 2 })
    }
    for (const [name, port] of this.ports) Object.assign(port, { x: graph.node(name).x, y: graph.node(name).y })
  }

  route(graph) {
    this.lines = this.pieces.map((piece, place) => {
      const [from, to] = [this.end(graph, piece.from), this.end(graph, piece.to)]
      const [upper, lower] = piece.reversed ? [to, from] : [from, to]
      const edge = graph.edge(upper, lower, String(place))
      return { piece, upper, lower, edge, inner: edge.points.slice(1, -1) }
    })
    this.attach('upper')
    this.attach('lower')
    for (const line of this.lines) line.points = this.path(line)
  }

  /** Spreads the ends of lines over the borders of children; a line of a group ends at its port. */
  attach(side) {
    const lower = side === 'lower'
    const byChild = new Map()
    for (const line of this.lines) {
      const name = line[side]
      const child = this.children.get(name)
      const next = lower ? line.inner.at(-1) : line.inner[0]
      if (child === undefined) line[`${side}X`] = this.ports.get(name).x
      else if (child instanceof Box) {
        const { reversed, value } = line.piece
        const port = `${lower === reversed} ${value} ${reversed ? 'up' : 'down'}`
        line[`${side}X`] = child.x + child.port(port)
      } else {
        if (!byChild.has(name)) byChild.set(name, [])
        byChild.get(name).push({ line, wanted: next.x })
      }
    }
    for (const [name, ends] of byChild) {
      const child = this.children.get(name)
      const margin = Math.min(10, child.width / 4)
      spread(ends, child.x + margin, child.x + child.width - margin)
      for (const { line, at } of ends) line[`${side}X`] = at
    }
  }

  path({ upper, lower, upperX, lowerX, inner, piece }) {
    const start = this.children.get(upper)
    const end = this.children.get(lower)
    const top = start ? start.y + start.height : this.ports.get(upper).y
    const bottom = end ? end.y : this.ports.get(lower).y
    const points = [[upperX, top]]
    const leave = this.ranks.bottomOf(start ? start.y + start.height / 2 : top)
    points.push([upperX, leave])
    for (const { x, y } of inner) {
      if (y <= leave) continue
      points.push([x, this.ranks.topOf(y)], [x, this.ranks.bottomOf(y)])
    }
    points.push([lowerX, this.ranks.topOf(end ? end.y + end.height / 2 : bottom)], [lowerX, bottom])
    const clean = points.filter(([x, y], place) => place === 0 || x !== points[place - 1][0] || y !== points[place - 1][1])
    return piece.reversed ? clean.reverse() : clean
  }

  /** Adds the padding and the heading of a group. */
  frame({ width, height }) {
    const inner = this.ports.size || this.lines.length || this.children.size ? { width, height } : { width: 0, height: 0 }
    // ranks of ports and holds, at the borders, are no part of what is inside
    const ys = [...this.children.values()].flatMap((child) => [child.y, child.y + child.height])
    for (const { edge, piece } of this.lines) if (piece.text) ys.push(edge.y - edge.height / 2, edge.y + edge.height / 2)
    // the lines of a port bend below the heading
    for (const [name, port] of this.ports) {
      const own = this.lines.filter(({ upper, lower }) => upper === name || lower === name)
      if (own.some(({ upperX, lowerX, inner }) => [upperX, lowerX, ...inner.map(({ x }) => x)].some((x) => Math.abs(x - port.x) > 0.5))) ys.push(port.y)
    }
    const xs = [...this.children.values()].flatMap((child) => [child.x, child.x + child.width])
    for (const { points, edge, piece } of this.lines) {
      for (const [x] of points) xs.push(x)
      if (piece.text) xs.push(edge.x - edge.width / 2, edge.x + edge.width / 2)
    }
    if (this.id === null) {
      this.shift = [-Math.min(0, ...xs), 0]
      Object.assign(this, { width: Math.max(inner.width, ...xs) + this.shift[0], height: inner.height, texts: [] })
      return
    }
    const [left, right] = [Math.min(...xs), Math.max(...xs)]
    const [top, bottom] = [Math.min(...ys), Math.max(...ys)]
    const heading = headingOf(this.item, this.tree.show)
    const ports = [...this.ports.values()]
    if (this.tree.across) this.frameAcross(heading, left, right, top, bottom)
    else this.frameDown(heading, left, right, top, bottom, ports)
    for (const { piece, points } of this.lines) this.reachBorder(piece, points)
  }

  frameDown(heading, left, right, top, bottom, ports) {
    const upper = ports.filter((port) => port.top).map((port) => port.x)
    const [first, last] = upper.length ? [Math.min(...upper), Math.max(...upper)] : [right, right]
    let start = Math.min(left - PADDING, first - heading.leftWidth - PADDING - HEADING_GAP)
    let end = right + PADDING
    if (upper.length) end = Math.max(end, last + heading.rightWidth + PADDING + HEADING_GAP)
    else end = Math.max(end, start + heading.leftWidth + heading.rightWidth + 3 * PADDING)
    const lower = ports.filter((port) => !port.top).map((port) => port.x)
    // a line that goes straight through stays straight outside
    if (upper.length === 1 && (lower.length !== 1 || Math.abs(lower[0] - first) < 1)) {
      const half = Math.max(first - start, end - first)
      if (2 * half - (end - start) < MOST_CENTERING) [start, end] = [first - half, first + half]
    }
    const above = heading.height + 2 * HEADING_GAP
    const [upperY, lowerY] = [top - above, bottom + PADDING]
    this.shift = [-start, -upperY]
    this.width = end - start
    this.height = lowerY - upperY
    this.texts = heading.placed(PADDING, HEADING_GAP, this.width - PADDING)
  }

  frameAcross(heading, left, right, top, bottom) {
    // x is across ranks here: the heading lies along the border on that side
    const start = left - heading.height - 2 * HEADING_GAP
    const need = heading.leftWidth + heading.rightWidth + 3 * PADDING
    const spare = Math.max(0, need - (bottom - top + 2 * PADDING)) / 2
    const [upperY, lowerY] = [top - PADDING - spare, bottom + PADDING + spare]
    this.shift = [-start, -upperY]
    this.width = right + PADDING - start
    this.height = lowerY - upperY
    this.texts = heading.placed(PADDING, HEADING_GAP, this.height - PADDING)
  }

  /** Extends the lines of ports to the border. */
  reachBorder(piece, points) {
    const [, shift] = this.shift
    const to = (end, place) => {
      if (typeof end === 'string') return
      const name = `port ${end.leaving} ${end.port}`
      const border = this.ports.get(name).top ? -shift : this.height - shift
      // ranks of ports may lie outside the border
      const outside = (y) => (this.ports.get(name).top ? y < border : y > border)
      for (const point of points) if (outside(point[1])) point[1] = border
      if (points.at(place)[1] === border) return
      points.splice(place === 0 ? 0 : points.length, 0, [points.at(place)[0], border])
    }
    to(piece.from, 0)
    to(piece.to, -1)
  }

  /** Distance of a port from the left border. */
  port(key) {
    for (const port of this.ports.values()) if (port.key === key) return port.x + this.shift[0]
    throw new Error(`no port ${key}`)
  }

  place(x, y, result) {
    const [left, top] = [x + this.shift[0], y + this.shift[1]]
    if (this.id !== null) {
      const { op, name, path } = this.item
      const texts = this.texts.map((text) => ({ ...text, x: text.x + (this.tree.across ? y : x), y: text.y + (this.tree.across ? x : y) }))
      result.groups.push({ id: this.id, x, y, width: this.width, height: this.height, texts, op, name, path })
    }
    for (const child of this.children.values()) child.place(left + child.x, top + child.y, result)
    for (const { piece, points, edge } of this.lines) {
      const label = piece.text
        ? { text: piece.text, x: left + edge.x - edge.width / 2, y: top + edge.y - edge.height / 2, width: edge.width, height: edge.height }
        : null
      const [from, to] = [piece.from, piece.to].map((end) => (typeof end === 'string' ? end : this.id))
      const arrow = this.children.get(piece.to) instanceof Leaf
      const moved = points.map(([px, py]) => [left + px, top + py])
      result.edges.push({ from, to, of: piece.of, back: piece.of.some((of) => this.tree.graph.edges[of].back), points: moved, arrow, label })
    }
  }
}

class Leaf {
  constructor(tree, item) {
    this.item = item
    this.tree = tree
    const { lines, width, height } = linesOf(item, tree.show)
    Object.assign(this, tree.size(width, height), { lines })
  }

  place(x, y, result) {
    const { id, kind, path, op } = this.item
    result.nodes.push({ id, kind, path, op, x, y, width: this.width, height: this.height, lines: this.lines })
  }
}

function labelSize(tree, text) {
  const { width, height } = NODE.label(text)
  return tree.size(width, height)
}

/** Upper and lower edge of every rank by its center. */
function ranksOf(graph) {
  const extents = []
  const add = (y, height) => {
    const known = extents.find((rank) => Math.abs(rank.y - y) < 0.01)
    if (known) known.half = Math.max(known.half, height / 2)
    else extents.push({ y, half: height / 2 })
  }
  for (const name of graph.nodes()) add(graph.node(name).y, graph.node(name).height)
  for (const edge of graph.edges()) {
    const { y, height } = graph.edge(edge)
    if (height) add(y, height)
  }
  const at = (y) => extents.find((rank) => Math.abs(rank.y - y) < 0.01) ?? { y, half: 0 }
  return {
    topOf: (y) => at(y).y - at(y).half,
    bottomOf: (y) => at(y).y + at(y).half,
  }
}

/** Gives ends places between two borders, near those wanted, in their order and with a distance. */
function spread(ends, least, most) {
  ends.sort((a, b) => a.wanted - b.wanted)
  const gap = Math.min(PORT_GAP, (most - least) / Math.max(1, ends.length - 1))
  ends.forEach((end, place) => {
    const before = place ? ends[place - 1].at + gap : least
    end.at = Math.max(before, Math.min(most, end.wanted))
  })
  for (let place = ends.length - 1; place >= 0; place -= 1) {
    const limit = place === ends.length - 1 ? most : ends[place + 1].at - gap
    ends[place].at = Math.min(ends[place].at, limit)
  }
}

function transpose(result) {
  const swap = (box) => {
    ;[box.x, box.y, box.width, box.height] = [box.y, box.x, box.height, box.width]
  }
  ;[result.width, result.height] = [result.height, result.width]
  for (const box of [...result.nodes, ...result.groups]) swap(box)
  for (const edge of result.edges) {
    edge.points = edge.points.map(([x, y]) => [y, x])
    if (edge.label) swap(edge.label)
  }
}
