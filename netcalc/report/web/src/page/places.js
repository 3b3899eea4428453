// The places in workings where the fields of records are opened, as the page declares them in `opened`.

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** True if a text is as a pattern says, in which * stands for any characters. */
export const matches = (text, pattern) => text === pattern || new RegExp(`^${pattern.split('*').map(escaped).join('.*')}$`, 's').test(text)

/** A text with the fields of an item in place of the names in braces. */
const filled = (text, item) => text.replace(/\{(\w+)\}/g, (braces, name) => (typeof item[name] === 'string' ? item[name] : braces))

/** The place of what has none: the working is opened without a mark. */
export const NOWHERE = { sections: [] }

/** True if the label of a step, which may stand for numbered ones as `layers.0–11.key`, is that of a path. */
function covers(label, path) {
  const bounds = []
  const pattern = label.split(/(\d+–\d+)/).map((part) => {
    const range = /^(\d+)–(\d+)$/.exec(part)
    if (!range) return escaped(part)
    bounds.push(range.slice(1).map(Number))
    return '(\\d+)'
  })
  const found = new RegExp(`^${pattern.join('')}$`).exec(path)
  return found !== null && bounds.every(([low, high], place) => low <= Number(found[place + 1]) && Number(found[place + 1]) <= high)
}

/** Where the field of a record is opened: sections, steps, and labels that do not count. */
export function placeOf(places, field, item = {}) {
  const place = places.find((each) => matches(field, each.field) && Object.entries(each.where).every(([name, value]) => item[name] === value))
  if (!place || place.reason) return { ...NOWHERE, reason: place?.reason ?? 'gap' }
  const own = { field: field.split('.').at(-1), ...item }
  return {
    sections: place.sections.map((title) => filled(title, own)),
    steps: filled(place.steps, own),
    without: place.without,
    together: place.together,
  }
}

/**
 * The parts of a working at a place, each with its steps there; parts and steps are elements.  With `path` the step is
 * that of a path; with `value` only steps that end in that text count, if there are any; with `together` the number is
 * one of several whose sum the part has.
 */
export function partsAt(parts, { sections, steps = '', without = '', together = false, path = null, value = null }) {
  const found = []
  for (const part of parts) {
    if (!sections.some((title) => matches(part.dataset.title, title))) continue
    const lines = [...part.querySelectorAll('.step')]
    const labelled = (label) => lines.filter((line) => matches(line.dataset.label, label) && !without.split('|').some((no) => no && matches(line.dataset.label, no)))
    if (path !== null) found.push([part, lines.filter((line) => covers(line.dataset.label, path))])
    else if (together) found.push([part, []])
    else {
      const asked = steps ? (steps.split('|').map(labelled).find((some) => some.length) ?? []) : lines.slice(-1)
      const equal = asked.filter((line) => line.querySelector('output').textContent === value)
      if (asked.length) found.push([part, equal.length ? equal : asked])
    }
  }
  return found
}
