// The documents of the page, one for each tab, and what is kept of them while the browser's tab is open.

const KEY = 'netcalc-documents'
let last = 0

export const FIRST = `netcalc: 1
name: my-network
inputs:
  image: [1, 3, 32, 32]
layers:
  - {name: conv1, conv2d: {out: 32, kernel: 3, padding: 1}}
  - relu
  - {name: pool, max_pool2d: {kernel: 2}}
  - flatten
  - {name: head, linear: 10}
`

/** A document; with `named` its tab keeps the name, else it has that of the spec. */
export function document_(name, text, options = {}, named = false) {
  last += 1
  return { id: last, name, named, text, options, answer: null, problems: [], hints: [], failure: null, stale: true }
}

export function kept() {
  try {
    const saved = JSON.parse(sessionStorage.getItem(KEY))
    if (!Array.isArray(saved?.documents) || !saved.documents.length) return null
    const documents = saved.documents.map(({ name, named, text, options }) => document_(String(name), String(text), plain(options), Boolean(named)))
    return { documents, at: Math.min(Math.max(0, Number(saved.at) || 0), documents.length - 1) }
  } catch {
    return null
  }
}

export function keep(documents, at) {
  try {
    const saved = documents.map(({ name, named, text, options }) => ({ name, named, text, options }))
    sessionStorage.setItem(KEY, JSON.stringify({ documents: saved, at }))
  } catch {
    // too long, or not allowed
  }
}

const LISTS = ['symbolic', 'quantize']
const TEXTS = ['convention', 'dtype', 'mode', 'training']

/** The options of a document of a link, of which only texts of known names are taken. */
export function plain(options) {
  const taken = {}
  for (const name of TEXTS) if (typeof options?.[name] === 'string' && options[name]) taken[name] = options[name].slice(0, 200)
  for (const name of LISTS) if (Array.isArray(options?.[name]) && options[name].length) taken[name] = options[name].slice(0, 1000).map((item) => String(item).slice(0, 200))
  if (options?.set && typeof options.set === 'object' && !Array.isArray(options.set)) {
    taken.set = Object.fromEntries(Object.entries(options.set).slice(0, 500).map(([name, value]) => [name, String(value).slice(0, 2000)]))
  }
  return taken
}

/** Options as the worker takes them: settings are texts NAME=VALUE. */
export function asked(options) {
  const set = Object.entries(options.set ?? {}).filter(([, value]) => value !== '')
  return { ...options, set: set.map(([name, value]) => `${name}=${value}`) }
}
