// Bundles scripts and styles into netcalc/report/built: the drawing of graphs with its library, beside the licence of the
// library, and the page of reports.
import { build } from 'esbuild'
import { copyFile, mkdir } from 'node:fs/promises'

const built = new URL('../built/', import.meta.url)
await mkdir(built, { recursive: true })
await build({
  entryPoints: [new URL('src/graph.js', import.meta.url).pathname],
  outfile: new URL('graph.js', built).pathname,
  bundle: true,
  minify: true,
  format: 'iife',
  globalName: 'netcalcGraph',
  target: 'es2020',
  charset: 'ascii',
  legalComments: 'none',
  banner: { js: '/* netcalc (MIT); @dagrejs/dagre 3.1.3 (MIT, see graph.LICENSE.txt) */' },
})
await copyFile(new URL('node_modules/@dagrejs/dagre/LICENSE', import.meta.url), new URL('graph.LICENSE.txt', built))

const common = { bundle: true, minify: true, target: 'es2020', charset: 'ascii', legalComments: 'none' }
const page = (name) => new URL(`src/page/${name}`, import.meta.url).pathname
await build({ ...common, entryPoints: [page('page.js')], outfile: new URL('page.js', built).pathname, format: 'iife', banner: { js: '/* netcalc (MIT) */' } })
await build({ ...common, entryPoints: [page('page.css')], outfile: new URL('page.css', built).pathname })
