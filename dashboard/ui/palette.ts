/** The colours and the text of pictures on a canvas, as the style sheet has them. */
import { colour } from '../browser/theme.ts'
import type { Tone } from './state.tsx'

const TONES: readonly Tone[] = ['good', 'bad', 'active', 'waiting', 'back', 'quiet']

export interface Palette {
  readonly bg: string
  readonly card: string
  readonly text: string
  readonly dim: string
  readonly line: string
  readonly accent: string
  readonly selected: string
  readonly ink: Readonly<Record<Tone, string>>
  readonly fill: Readonly<Record<Tone, string>>
}

export function readPalette(): Palette {
  const inks = (suffix: string) =>
    Object.fromEntries(TONES.map((tone) => [tone, colour(tone + suffix)])) as Record<Tone, string>
  return {
    bg: colour('bg'),
    card: colour('card'),
    text: colour('text'),
    dim: colour('dim'),
    line: colour('line'),
    accent: colour('accent'),
    selected: colour('selected'),
    ink: inks(''),
    fill: inks('-bg'),
  }
}

/** Calls when the colours of the page have changed. */
export function onThemeChange(changed: () => void): () => void {
  const observer = new MutationObserver(changed)
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  const query = window.matchMedia('(prefers-color-scheme: dark)')
  query.addEventListener('change', changed)
  return () => {
    observer.disconnect()
    query.removeEventListener('change', changed)
  }
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", sans-serif'

const MOST_REMEMBERED = 20_000
const remembered = new Map<string, string>()

/** The text, shortened with an ellipsis to the room that there is. */
export function fitting(context: CanvasRenderingContext2D, text: string, room: number): string {
  const name = `${context.font}|${Math.round(room)}|${text}`
  const known = remembered.get(name)
  if (known !== undefined) return known
  // Of a very long name only as much is measured as can be seen.
  const line = text.slice(0, 200).replaceAll(/\s+/g, ' ')
  let shown = line
  if (line.length < text.length || context.measureText(line).width > room) {
    let [least, most] = [0, line.length]
    while (least < most) {
      const middle = Math.ceil((least + most) / 2)
      if (context.measureText(`${line.slice(0, middle)}…`).width <= room) least = middle
      else most = middle - 1
    }
    shown = `${line.slice(0, least)}…`
  }
  if (remembered.size > MOST_REMEMBERED) remembered.clear()
  remembered.set(name, shown)
  return shown
}
