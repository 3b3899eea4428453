/**
 * The graph with some groups closed: each is a box, with the edges of all that is inside it.  `of` of an edge is the box
 * that gives the tensor, also inside a closed one.
 */
export function collapse(graph, closed) {
  const groups = new Map(graph.groups.map((group) => [group.id, group]))
  const outermost = (id) => {
    let box = null
    for (let group = id; group !== null; group = groups.get(group).group) if (closed.has(group)) box = group
    return box
  }
  const nodes = []
  const boxOf = new Map()
  const seen = new Set()
  for (const node of graph.nodes) {
    const box = outermost(node.group)
    boxOf.set(node.id, box ?? node.id)
    if (box === null) nodes.push(node)
    else if (!seen.has(box)) {
      seen.add(box)
      nodes.push({ ...groups.get(box), kind: 'block' })
    }
  }
  const order = new Map(nodes.map((node, place) => [node.id, place]))
  const edges = new Map()
  for (const edge of graph.edges) {
    const [source, target] = [boxOf.get(edge.source), boxOf.get(edge.target)]
    if (source === target) continue
    const key = JSON.stringify([source, target, edge.shape, edge.dtype])
    const back = order.get(source) > order.get(target)
    if (!edges.has(key)) edges.set(key, { ...edge, of: edge.source, source, target, back })
  }
  const open = graph.groups.filter((group) => !closed.has(group.id) && outermost(group.group) === null)
  return { ...graph, nodes, groups: open, edges: [...edges.values()] }
}

/** The groups to close so that a graph is opened to a depth. */
export function deeper(graph, depth) {
  return new Set(graph.groups.filter((group) => group.opened_at > depth).map((group) => group.id))
}

/** As collapse, of groups in a list. */
export const closed = (graph, groups) => collapse(graph, new Set(groups))
