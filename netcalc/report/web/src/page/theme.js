// Light and dark: the reader's setting until the button is pressed.
import { h } from './dom.js'

export const isDark = () => {
  const chosen = document.documentElement.dataset.theme
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
}

export function themeButton(changed) {
  const name = () => (isDark() ? 'Light' : 'Dark')
  const button = h('button', { type: 'button', class: 'theme' }, name())
  button.addEventListener('click', () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark'
    button.textContent = name()
    changed()
  })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    button.textContent = name()
    changed()
  })
  return button
}
