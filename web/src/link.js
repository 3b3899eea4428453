// Links that carry a whole document, compressed, in the fragment, which browsers send to no server.
import { plain } from './documents.js'

/** Most bytes of a document in a link, a little over the largest spec that netcalc reads. */
const MOST = 5_000_000
const PREFIX = '#spec='

async function bytesOf(stream, most = Infinity) {
  const parts = []
  let size = 0
  const reader = stream.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.length
    if (size > most) {
      await reader.cancel()
      throw new Error('the document of the link is too large')
    }
    parts.push(value)
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}

const base64 = (bytes) => {
  let text = ''
  for (let place = 0; place < bytes.length; place += 0x8000) text += String.fromCharCode(...bytes.subarray(place, place + 0x8000))
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

export async function fragmentOf({ name, text, options }) {
  const data = new Blob([JSON.stringify({ name, text, options })])
  return PREFIX + base64(await bytesOf(data.stream().pipeThrough(new CompressionStream('deflate-raw'))))
}

/** The document of a fragment; null if it has none. */
export async function documentOf(fragment) {
  if (!fragment.startsWith(PREFIX)) return null
  const text = atob(fragment.slice(PREFIX.length).replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  const found = JSON.parse(new TextDecoder().decode(await bytesOf(stream, MOST)))
  if (typeof found?.text !== 'string') throw new Error('the link has no document')
  return { name: String(found.name ?? 'shared').slice(0, 100), text: found.text, options: plain(found.options) }
}
