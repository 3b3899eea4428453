// Keeps all files of one build, so that a second visit needs no network.  FILES and BUILD are written in by the build.
/* global FILES, BUILD */

const NAME = `netcalc-page-${BUILD}`
const own = new URL('.', self.location.href).href

self.addEventListener('install', (event) => {
  const keep = async () => {
    const cache = await caches.open(NAME)
    await cache.addAll(FILES.map((name) => new Request(new URL(name, own), { cache: 'no-cache' })))
    await self.skipWaiting()
  }
  event.waitUntil(keep())
})

self.addEventListener('activate', (event) => {
  const others = async () => {
    for (const name of await caches.keys()) if (name.startsWith('netcalc-page-') && name !== NAME) await caches.delete(name)
    await self.clients.claim()
  }
  event.waitUntil(others())
})

self.addEventListener('fetch', (event) => {
  const url = event.request.url.split(/[?#]/)[0]
  if (event.request.method !== 'GET' || !url.startsWith(own)) return
  const answer = async () => {
    const cache = await caches.open(NAME)
    return (await cache.match(url === own ? `${own}index.html` : url)) ?? fetch(event.request)
  }
  event.respondWith(answer())
})
