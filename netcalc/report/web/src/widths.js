// Widths of the characters from U+0020 to U+007E in hundredths of the size of the font, as DejaVu Sans has them: it is
// wider than the other fonts that a picture is shown in, so that a text fits in all of them.
const REGULAR = [
  32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34,
  34, 84, 84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64, 62, 74,
  69, 99, 69, 62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64,
  64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
]
const BOLD = [
  35, 46, 53, 84, 70, 101, 88, 31, 46, 46, 53, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 40,
  40, 84, 84, 84, 59, 100, 78, 77, 74, 84, 69, 69, 83, 84, 38, 38, 78, 64, 100, 84, 86, 74, 86, 78, 73, 69, 82,
  78, 111, 78, 73, 73, 46, 37, 46, 84, 50, 50, 68, 72, 60, 72, 68, 44, 72, 72, 35, 35, 67, 35, 105, 72, 69, 72,
  72, 50, 60, 48, 72, 66, 93, 65, 66, 59, 72, 37, 72, 84,
]

/** Width of a text in pixels, at least that of every usual font without serifs. */
export function textWidth(text, size, bold = false) {
  const widths = bold ? BOLD : REGULAR
  let total = 0
  for (const character of text) {
    const code = character.codePointAt(0)
    if (code >= 32 && code < 127) total += widths[code - 32]
    else if (code < 0x1100) total += bold ? 85 : 80
    else if (code >= 0x2000 && code < 0x2070) total += 101
    else total += 130
  }
  return (total * size) / 100
}

/** The text, shortened in its middle to a width. */
export function shortened(text, width, size, bold = false) {
  if (textWidth(text, size, bold) <= width) return text
  const characters = [...text]
  const cut = (length) => {
    const half = length >> 1
    return characters.slice(0, length - half).join('') + '…' + characters.slice(characters.length - half).join('')
  }
  let fits = 1
  let exceeds = characters.length
  while (exceeds - fits > 1) {
    // a longer cut is wider
    const length = (fits + exceeds) >> 1
    if (textWidth(cut(length), size, bold) <= width) fits = length
    else exceeds = length
  }
  return fits > 1 ? cut(fits) : '…'
}
