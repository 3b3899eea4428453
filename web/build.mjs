// Builds the page of wheels and npm packages into one folder: `node build.mjs WHEELS OUT`; `build.py` calls it.
import { build } from 'esbuild'
import { createHash } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { join } from 'node:path'
import { loadPyodide } from 'pyodide'

const [wheels, out] = process.argv.slice(2)
const here = (name) => new URL(name, import.meta.url).pathname
const report = '../netcalc/report'

/** Files of Pyodide that the worker loads as they are. */
const PYODIDE = ['pyodide.mjs', 'pyodide.asm.mjs']

async function files(folder, under = '') {
  const entries = await readdir(join(folder, under), { withFileTypes: true })
  const lists = entries.map((entry) => (entry.isDirectory() ? files(folder, join(under, entry.name)) : [join(under, entry.name)]))
  return (await Promise.all(lists)).flat().sort()
}

/** All Python packages as one archive of compiled modules and data, the standard library likewise, and licences. */
async function packages() {
  const python = await loadPyodide({ env: { PYTHONHASHSEED: '0', HOME: '/home' } })
  const extractDir = python.runPython('import sysconfig; sysconfig.get_paths()["purelib"]')
  for (const name of (await readdir(wheels)).sort()) {
    python.unpackArchive(new Uint8Array(await readFile(join(wheels, name))), 'wheel', { extractDir })
  }
  python.FS.writeFile('/pack.py', await readFile(here('pack.py')))
  python.FS.writeFile('/netcalc_page.py', await readFile(here('src/netcalc_page.py')))
  python.runPython('import sys; sys.path.insert(0, "/")\nimport pack; pack.pack("/packages", "/licences")')
  python.FS.writeFile('/library.zip', await readFile(here('node_modules/pyodide/python_stdlib.zip')))
  python.runPython('pack.pack_library("/library.zip")')
  return [python.FS.readFile('/packages'), python.FS.readFile('/library.zip'), python.FS.readFile('/licences', { encoding: 'utf8' })]
}

/** Licences of the npm packages whose code is in the page. */
async function licences() {
  const { packages: locked } = JSON.parse(await readFile(here('package-lock.json'), 'utf8'))
  const texts = []
  for (const [place, { dev, version }] of Object.entries(locked).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const name = place.replace('node_modules/', '')
    if (!place || dev || name === 'pyodide' || name === 'ws' || name.startsWith('@types/')) continue
    texts.push(`${name} ${version}\n\n${(await readFile(join(here(place), 'LICENSE'), 'utf8')).trim()}\n`)
  }
  const { version } = JSON.parse(await readFile(here('node_modules/pyodide/package.json'), 'utf8'))
  texts.push(`pyodide ${version}\n\nMozilla Public License 2.0, https://www.mozilla.org/MPL/2.0/\nSources: https://github.com/pyodide/pyodide, with CPython (Python Software Foundation License)\n`)
  texts.push(`@dagrejs/dagre\n\n${(await readFile(here(`${report}/built/graph.LICENSE.txt`), 'utf8')).trim()}\n`)
  return texts.join(`\n${'-'.repeat(80)}\n\n`)
}

await rm(out, { recursive: true, force: true })
await mkdir(join(out, 'pyodide'), { recursive: true })
for (const name of PYODIDE) await cp(here(`node_modules/pyodide/${name}`), join(out, 'pyodide', name))
for (const name of ['index.html', 'icon.svg']) await cp(here(`src/${name}`), join(out, name))
await cp(here(`${report}/built/graph.js`), join(out, 'graph.js'))

const common = { bundle: true, minify: true, target: 'es2022', charset: 'ascii', legalComments: 'none', absWorkingDir: here('.'), nodePaths: [here('node_modules')] }
await build({ ...common, entryPoints: ['src/main.js'], outfile: join(out, 'main.js'), format: 'iife' })
await build({ ...common, entryPoints: ['src/worker.js'], outfile: join(out, 'worker.js'), format: 'esm', external: ['./pyodide/*'] })
await build({ ...common, entryPoints: ['src/style.css'], outfile: join(out, 'style.css') })

const [archive, library, ofPython] = await packages()
await writeFile(join(out, 'packages.gz'), gzipSync(archive, { level: 9 }))
await writeFile(join(out, 'pyodide/pyodide.asm.wasm.gz'), gzipSync(await readFile(here('node_modules/pyodide/pyodide.asm.wasm')), { level: 9 }))
await writeFile(join(out, 'pyodide/python_stdlib.zip'), library)
await writeFile(join(out, 'LICENSES.txt'), `${await licences()}\n${'-'.repeat(80)}\n\n${ofPython}`)

// The service worker keeps all files of one build, under the digest of their contents.
const names = (await files(out)).filter((name) => name !== 'LICENSES.txt')
const digest = createHash('sha256')
for (const name of names) digest.update(name).update(await readFile(join(out, name)))
const define = { FILES: JSON.stringify(names), BUILD: JSON.stringify(digest.digest('hex').slice(0, 16)) }
await build({ ...common, entryPoints: ['src/sw.js'], outfile: join(out, 'sw.js'), format: 'iife', define })
