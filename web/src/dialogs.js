// The dialogs of ways in and ways out.
import { h, table } from '../../netcalc/report/web/src/page/dom.js'
import { bytes, elements, exact, shape, short } from '../../netcalc/report/web/src/page/numbers.js'

const MOST = 60

function dialog(id, title, ...content) {
  const element = h('dialog', { id, 'aria-labelledby': `${id}-title` })
  const close = h('button', { type: 'button', class: 'close', 'aria-label': 'Close', onclick: () => element.close() }, '×')
  element.append(h('div', { class: 'bar' }, h('h2', { id: `${id}-title` }, title), close), ...content)
  element.addEventListener('click', (event) => event.target === element && element.close())
  // a field of a search takes the key for itself
  element.addEventListener('keydown', (event) => event.key === 'Escape' && element.close())
  return element
}

/** The dialog that opens a shipped spec by search, or a file. */
export function openDialog(host) {
  const search = h('input', { type: 'search', class: 'search', placeholder: 'resnet, llama, vision …', 'aria-label': 'Search the shipped specs' })
  const list = h('ul', { class: 'specs' })
  const status = h('p', { class: 'quiet', role: 'status' }, 'The list comes when netcalc has started.')
  const file = h('input', { type: 'file', multiple: true, class: 'offscreen', id: 'file', tabindex: '-1', 'aria-label': 'Files of a model' })
  const pick = h('button', { type: 'button', onclick: () => file.click() }, 'Choose a file')
  const about = 'or drop one on the page: a spec in YAML, a config.json or adapter_config.json of Hugging Face, a .gguf or .safetensors file of any size. Files stay on this machine.'
  const element = dialog('open', 'Open', h('div', { class: 'tools' }, pick, h('span', { class: 'quiet' }, about), file), search, status, list)
  let specs = []
  const draw = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
    const text = (spec) => [spec.name, spec.family, spec.about, ...spec.aliases].join(' ').toLowerCase()
    const rank = (spec) => (spec.name === words[0] ? 0 : spec.name.startsWith(words[0] ?? '') ? 1 : 2)
    const found = specs.filter((spec) => words.every((word) => text(spec).includes(word))).sort((a, b) => rank(a) - rank(b))
    list.replaceChildren(
      ...found.slice(0, MOST).map((spec) =>
        h('li', {}, h('button', { type: 'button', 'data-spec': spec.name, onclick: () => host.openSpec(spec.name).then(() => element.close()) }, h('b', {}, spec.name), ` ${spec.about} `, h('span', { class: 'quiet' }, `${elements(spec.params)} parameters, ${short(spec.macs, 'MAC')}`))),
      ),
    )
    status.textContent = found.length > MOST ? `${found.length} specs; the first ${MOST}` : found.length === 1 ? '1 spec' : `${found.length} specs`
  }
  search.addEventListener('input', draw)
  search.addEventListener('keydown', (event) => event.key === 'Enter' && list.querySelector('button')?.click())
  file.addEventListener('change', async () => {
    element.close()
    await host.openFiles([...file.files])
    file.value = ''
  })
  const show = async () => {
    element.showModal()
    search.focus()
    search.select()
    if (!specs.length) specs = await host.ask('specs')
    draw()
  }
  return { element, show }
}

export function download(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = h('a', { href: url, download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10000)
}

/** The dialog of ways out; `host.written(format)` returns a text. */
export function saveDialog(host) {
  const status = h('p', { role: 'status' })
  const link = h('input', { type: 'text', readonly: true, 'aria-label': 'Link with the whole spec', class: 'search' })
  const formats = [
    ['YAML', 'the spec', 'yaml', 'text/yaml'],
    ['JSON', 'totals and layers', 'json', 'application/json'],
    ['CSV', 'layers', 'csv', 'text/csv'],
    ['Markdown', 'totals and layers', 'md', 'text/markdown'],
    ['SVG', 'the graph', 'svg', 'image/svg+xml'],
  ]
  const save = async (suffix, type) => {
    status.textContent = ''
    try {
      const name = host.current().name.replace(/[^\w.-]+/g, '-') || 'spec'
      download(`${name}.${suffix}`, await host.written(suffix), type)
    } catch (error) {
      status.textContent = error.message
    }
  }
  const copy = h('button', { type: 'button', class: 'copy' }, 'Copy the link')
  copy.addEventListener('click', async () => {
    link.select()
    await navigator.clipboard.writeText(link.value)
    status.textContent = 'Copied'
  })
  const element = dialog(
    'save',
    'Save and share',
    h('div', { class: 'formats' }, formats.map(([title, about, suffix, type]) => h('button', { type: 'button', 'data-format': suffix, onclick: () => save(suffix, type) }, h('b', {}, title), ` ${about}`))),
    h('h3', {}, 'A link with the whole spec'),
    h('p', { class: 'quiet' }, 'The text is in the part behind #, which no server is sent: whoever has the link has the spec, and nobody else.'),
    h('div', { class: 'tools' }, link, copy),
    status,
  )
  const show = async () => {
    status.textContent = ''
    link.value = await host.link()
    element.showModal()
  }
  return { element, show }
}

/** The dialog of the tensors of a file, as its header lists them. */
export function tensorsDialog() {
  const body = h('div', {})
  const element = dialog('tensors', 'Tensors', body)
  const columns = [{ title: 'Tensor' }, { title: 'Shape' }, { title: 'Type' }, { title: 'Parameters', number: true }, { title: 'Bytes', number: true }]
  const mono = (text) => h('span', { class: 'mono' }, text)
  const show = (name, found) => {
    const { tensors, totals, rows } = found
    const more = rows > tensors.length && `; the first ${exact(tensors.length)} of them`
    body.replaceChildren(
      h('p', {}, h('b', {}, name), `: ${exact(totals.tensors)} tensors, ${exact(totals.params)} parameters (${elements(totals.params)}), ${exact(totals.bytes)} bytes (${bytes(totals.bytes)})${more || ''}`),
      h('p', { class: 'quiet' }, 'A file of tensors does not say what is computed with them; with its config.json the network is counted.'),
      table(columns, tensors.map((each) => [mono(each.name), mono(shape(each.shape)), each.dtype, exact(each.params), exact(each.bytes)]), { caption: `Tensors of ${name}` }),
    )
    element.showModal()
  }
  return { element, show }
}
