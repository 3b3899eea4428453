// Files that are chosen or dropped: specs, configurations, and checkpoints, of which netcalc reads the headers.

const TEXT = 4_000_000

const textOf = async (file) => {
  if (file.size > TEXT) throw new Error(`${file.name} has ${file.size.toLocaleString('en')} bytes; texts have at most ${TEXT.toLocaleString('en')}`)
  return file.text()
}

const stem = (name) => name.replace(/\.[^.]*$/, '')

const isConfiguration = (text) => /^\s*\{/.test(text) && !/^\s*\{\s*"?netcalc"?\s*:/.test(text)

/** The documents that files are; configurations become specs. */
export async function readFiles(files, engine) {
  const json = files.filter((file) => /\.json$/i.test(file.name))
  const documents = []
  for (const file of files.filter((each) => !json.includes(each))) documents.push({ name: stem(file.name), text: await textOf(file) })
  if (!json.length) return documents
  const texts = {}
  for (const file of json) texts[file.name.includes('adapter') ? 'adapter_config.json' : 'config.json'] = await textOf(file)
  const [first] = json
  return [...documents, { name: stem(first.name), text: (await engine.ask('imported', { files: texts })).text }]
}

export { isConfiguration }
