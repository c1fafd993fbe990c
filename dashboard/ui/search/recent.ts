/** The last queries of the user, kept by the browser. */

const MOST = 8

const keyOf = (of: string): string => `petrel.recent.${of}`

export function recentQueries(of: string): readonly string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(keyOf(of)) ?? '[]')
    return Array.isArray(stored) ? stored.filter((one) => typeof one === 'string').slice(0, MOST) : []
  } catch {
    return []
  }
}

export function remember(of: string, query: string): void {
  const text = query.trim()
  if (text === '') return
  const others = recentQueries(of).filter((one) => one !== text)
  localStorage.setItem(keyOf(of), JSON.stringify([text, ...others].slice(0, MOST)))
}
