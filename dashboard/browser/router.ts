/**
 * Where the user is: a path below /ui and parameters, kept in the address, so that every view has a link. Pages are
 * loaded when they are first opened.
 */
import { computed, signal } from '@preact/signals'

const BASE = '/ui'

export interface Place {
  /** Below /ui: `/instances/0192…`. */
  readonly path: string
  readonly query: URLSearchParams
}

function current(): Place {
  const { pathname, search } = window.location
  const path = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : pathname
  return { path: path === '' ? '/' : path, query: new URLSearchParams(search) }
}

export const place = signal<Place>(current())
export const path = computed(() => place.value.path)

window.addEventListener('popstate', () => {
  place.value = current()
})

/** The address of a page: `href('/instances', { q: 'state:failed' })`. Empty parameters are left out. */
export function href(path: string, query: Readonly<Record<string, string | number | null | undefined>> = {}): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') params.set(name, String(value))
  }
  const text = params.toString()
  return `${BASE}${path}${text === '' ? '' : `?${text}`}`
}

/** Goes to an address made by `href`. `replace`: without an entry in the history of the browser, as while typing. */
export function go(address: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) window.history.replaceState(null, '', address)
  else window.history.pushState(null, '', address)
  place.value = current()
  if (!replace) window.scrollTo(0, 0)
}

/** Changes parameters of this page; null removes one. */
export function setQuery(changes: Readonly<Record<string, string | null>>, { replace = true } = {}): void {
  const query = new URLSearchParams(place.value.query)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') query.delete(name)
    else query.set(name, value)
  }
  go(href(place.value.path, Object.fromEntries(query)), { replace })
}

/** A parameter of the address, '' if it is absent. */
export function param(name: string): string {
  return place.value.query.get(name) ?? ''
}

/** The values of `:names` in a pattern; null: the path does not match. */
export function match(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const names = pattern.split('/')
  const parts = path.replace(/\/$/, '').split('/')
  if (path === '/' ? pattern !== '/' : names.length !== parts.length) return null
  const values: Record<string, string> = {}
  for (const [i, name] of names.entries()) {
    const part = parts[i] ?? ''
    if (name.startsWith(':')) values[name.slice(1)] = decoded(part)
    else if (name !== part) return null
  }
  return values
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Clicks on links of this application do not load the document again. */
document.addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
  const link = (event.target as Element | null)?.closest('a[href]') as HTMLAnchorElement | null
  if (link === null || link.target !== '' || link.hasAttribute('download')) return
  if (link.origin !== window.location.origin || !link.pathname.startsWith(`${BASE}/`)) return
  event.preventDefault()
  go(link.pathname + link.search)
})
