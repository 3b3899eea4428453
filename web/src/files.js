// Files that are chosen, dropped or pasted: specs, configurations, and checkpoints, of which netcalc reads the headers.

const TEXT = 4_000_000

const textOf = async (file) => {
  if (file.size > TEXT) throw new Error(`${file.name} has ${file.size.toLocaleString('en')} bytes; texts have at most ${TEXT.toLocaleString('en')}`)
  return file.text()
}

const stem = (name) => name.replace(/\.[^.]*$/, '')

/** True for a text of JSON that is no spec. */
export const isConfiguration = (text) => /^\s*\{\s*"/.test(text) && !/"netcalc"\s*:/.test(text)

/** The file that a text of JSON is: that of an adapter, or of a model. */
const fileOf = (text) => (/"(peft_type|base_model_name_or_path)"\s*:/.test(text) ? 'adapter_config.json' : 'config.json')

/** The spec of a configuration: its text, the options that store parameters as its checkpoint does, and a note. */
export const specOf = (text, engine) => engine.ask('imported', { files: { [fileOf(text)]: text } })

/** True for a part of a model whose first part is among the files. */
const isFurther = ({ name }, files) => {
  const first = name.replace(/-\d{5}(-of-\d{5}\.gguf)$/i, '-00001$1')
  return first !== name && files.some((each) => each.name === first)
}

/** What files are: documents, of which configurations and GGUF files become specs, and lists of tensors. */
export async function readFiles(files, engine) {
  const found = []
  const configurations = []
  const parts = files.filter(({ name }) => /\.gguf$/i.test(name))
  for (const file of files) {
    if (parts.includes(file)) {
      // parts of one model are read with the first of them
      if (isFurther(file, parts)) continue
      found.push({ name: stem(file.name).replace(/-\d{5}-of-\d{5}$/, ''), ...(await engine.ask('imported_file', { name: file.name }, parts)) })
    } else if (/\.(safetensors|npz|npy)$/i.test(file.name)) found.push({ name: file.name, tensors: await engine.ask('tensors', { name: file.name }, [file]) })
    else {
      const text = await textOf(file)
      if (isConfiguration(text)) configurations.push([file, text])
      else found.push({ name: stem(file.name), text })
    }
  }
  if (configurations.length) {
    const texts = Object.fromEntries(configurations.map(([, text]) => [fileOf(text), text]))
    found.push({ name: stem(configurations[0][0].name), ...(await engine.ask('imported', { files: texts })) })
  }
  return found
}
