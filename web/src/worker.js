// Python with netcalc, in a worker of the page: unpacks the packages, and answers questions one after the other.

const base = new URL('.', self.location.href).href
const tell = (stage) => postMessage({ stage })

async function fetched(name) {
  const response = await fetch(new URL(name, base))
  if (!response.ok) throw new Error(`${name}: ${response.status}`)
  return response
}

/** A response with the plain content of a compressed file, as many servers send files as they are. */
async function unpacked(name, type) {
  const { body } = await fetched(name)
  return new Response(body.pipeThrough(new DecompressionStream('gzip')), { headers: { 'content-type': type } })
}

const { fetch: plainFetch } = self
// Pyodide asks for its code by this name
self.fetch = (url, options) => (String(url).endsWith('pyodide.asm.wasm') ? unpacked('pyodide/pyodide.asm.wasm.gz', 'application/wasm') : plainFetch(url, options))

const archived = async () => new Uint8Array(await (await unpacked('packages.gz', 'application/octet-stream')).arrayBuffer())

/** Write the files of the archive of `pack.py` below a folder. */
function install(FS, archive, folder) {
  const size = new DataView(archive.buffer).getUint32(0, true)
  const list = JSON.parse(new TextDecoder().decode(archive.subarray(4, 4 + size)))
  const made = new Set()
  let place = 4 + size
  for (const [name, length] of list) {
    const path = `${folder}/${name}`
    const parent = path.slice(0, path.lastIndexOf('/'))
    if (!made.has(parent)) {
      FS.mkdirTree(parent)
      made.add(parent)
    }
    FS.writeFile(path, archive.subarray(place, place + length), { canOwn: true })
    place += length
  }
}

async function started() {
  tell('Loading Python')
  const packages = archived()
  const { loadPyodide } = await import('./pyodide/pyodide.mjs')
  const python = await loadPyodide({
    indexURL: new URL('pyodide/', base).href,
    lockFileContents: { info: { abi_version: '2026_0', arch: 'wasm32', platform: 'emscripten', python: '3.14', version: '314' }, packages: {} },
    env: { HOME: '/home' },
  })
  tell('Unpacking netcalc')
  const folder = python.runPython('import sysconfig; sysconfig.get_paths()["purelib"]')
  install(python.FS, await packages, folder)
  tell('Starting netcalc')
  python.FS.mkdirTree('/home/page/files')
  python.runPython('import gc, importlib; importlib.invalidate_caches(); gc.set_threshold(20000, 50, 50)')
  const call = python.pyimport('netcalc_page').call
  return { python, call }
}

const ready = started()
ready.then(
  () => postMessage({ stage: null }),
  (error) => postMessage({ failed: String(error) }),
)

/** Show files of the page as files of Python, which are read where Python reads. */
function mounted(python, files) {
  try {
    python.FS.unmount('/home/page/files')
  } catch {
    // nothing is there yet
  }
  python.FS.mount(python.FS.filesystems.WORKERFS, { files }, '/home/page/files')
}

self.onmessage = async ({ data: { id, method, parameters, files } }) => {
  const { python, call } = await ready
  try {
    if (files) mounted(python, files)
    postMessage({ id, answer: call(method, JSON.stringify(parameters)) })
  } catch (error) {
    // the stack of WebAssembly is exhausted, or its memory: Python cannot go on
    postMessage({ id, broken: String(error).slice(0, 500) })
  }
}
