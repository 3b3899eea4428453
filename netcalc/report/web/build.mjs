// Bundles the drawing of graphs with its library into one file, beside the licence of the library.
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
