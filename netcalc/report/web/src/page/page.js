// The page of `netcalc report`: draws the records in the element `data`.
import { append, h, section } from './dom.js'
import { compare } from './compare.js'
import { graph, graphColors } from './graph.js'
import { layers } from './layers.js'
import { caches, memory } from './memory.js'
import { overview } from './overview.js'
import { signal } from './signal.js'
import { split } from './split.js'
import { time } from './time.js'
import { themeButton } from './theme.js'
import { Openers, workingPanel } from './working.js'

const page = JSON.parse(document.getElementById('data').textContent)
const { networks } = page
const panel = workingPanel()
const tables = []

/** Change the fragment without another entry in the history. */
const go = (fragment) => history.replaceState(null, '', `#${fragment}`)
const openers = new Openers(panel, page.opened)

/** The sections: id, title, the networks that have it, and how it is drawn. */
const SECTIONS = [
  { id: 'about', title: 'What it is', of: (network) => overview(network, openers) },
  { id: 'graph', title: 'Architecture', of: (network, place) => graph(network, place, openers, go) },
  {
    id: 'layers',
    title: 'Layers',
    of: (network, place) => {
      tables[place] = layers(network, place, openers, go)
      return tables[place].nodes
    },
  },
  { id: 'memory', title: 'Memory', of: (network) => memory(network, openers) },
  { id: 'split', title: 'Split', has: (network) => network.memory.split, of: (network) => split(network, openers) },
  { id: 'caches', title: 'Caches', has: (network) => network.memory.kept.length > 0, of: (network) => caches(network, openers) },
  { id: 'time', title: 'Time', has: (network) => network.time, of: (network) => time(network, openers) },
  { id: 'signal', title: 'Signal', has: (network) => network.signal, of: (network) => signal(network, openers) },
]

function drawn({ id, title, has = () => true, of }) {
  const shown = networks.map((network, place) => [network, place]).filter(([network]) => has(network))
  if (!shown.length) return null
  if (networks.length === 1) return section(id, title, of(networks[0], 0))
  const parts = shown.map(([network, place]) => h('div', { class: 'side' }, h('h3', { class: 'of' }, network.title), of(network, place)))
  return section(id, title, h('div', { class: 'sides' }, parts))
}

/** Open what a fragment names: a layer, `layer=0:conv1`. */
function follow() {
  const match = /^#layer=(\d+):(.*)$/.exec(location.hash)
  if (!match) return
  let path
  try {
    path = decodeURIComponent(match[2])
  } catch {
    return
  }
  tables[Number(match[1])]?.show(path)
}

graphColors()
const sections = SECTIONS.map(drawn).filter(Boolean)
if (page.comparison) sections.splice(0, 0, section('compare', 'Side by side', compare(page, openers)))
const title = networks.map((network) => network.title).join(' and ')
const root = document.getElementById('page')
root.replaceChildren()
append(root, [
  h('a', { href: '#main', class: 'skip' }, 'Skip to the content'),
  h(
    'header',
    { class: 'top' },
    h('div', { class: 'title' }, h('h1', {}, title), themeButton(graphColors)),
    networks.map((network) => network.about && h('p', { class: 'lead' }, networks.length > 1 ? `${network.title}: ${network.about}` : network.about)),
  ),
  h('nav', { 'aria-label': 'Sections' }, h('ul', {}, sections.map((each) => h('li', {}, h('a', { href: `#${each.id}` }, each.querySelector('h2').textContent))))),
  h('main', { id: 'main' }, sections),
  h('footer', {}, `netcalc ${page.netcalc}`),
  panel.element,
])
panel.onclose(() => location.hash.startsWith('#layer=') && go('layers'))
addEventListener('hashchange', follow)
follow()
