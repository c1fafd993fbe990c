/** Light or dark: as the system has it, or as the user has chosen. */
import { signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'petrel.theme'
export const theme = signal<Theme>(stored())

function stored(): Theme {
  const value = localStorage.getItem(KEY)
  return value === 'light' || value === 'dark' ? value : 'system'
}

export function applyTheme(): void {
  const { documentElement } = document
  if (theme.value === 'system') documentElement.removeAttribute('data-theme')
  else documentElement.setAttribute('data-theme', theme.value)
}

const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }

export function nextTheme(): void {
  theme.value = NEXT[theme.value]
  localStorage.setItem(KEY, theme.value)
  applyTheme()
}

/** The colours of the pictures, from the style sheet. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}
