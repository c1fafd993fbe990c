/** Times relative to now, with the clock beside them. */
import { span } from '../../views/words.ts'
import type { Moments } from '../../wire/why-words.ts'

export function moments(now: number): Moments {
  const when = (at: number): string => {
    if (at > now) return `in ${span(at - now)} (${clockTime(at)})`
    return `${span(now - at)} ago (${clockTime(at)})`
  }
  return { when, since: (at) => `for ${span(Math.max(0, now - at))}`, span }
}

/** With the date, unless it is today. */
function clockTime(at: number): string {
  const text = new Date(at).toISOString()
  const today = new Date().toISOString().slice(0, 10)
  return text.startsWith(today) ? `${text.slice(11, 19)}Z` : `${text.slice(0, 10)} ${text.slice(11, 19)}Z`
}
