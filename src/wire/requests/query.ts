/** Query parameters, checked: an invalid one is named with a suggestion. */

import { PetrelError } from '../../kernel/errors.ts'

export type Query = { readonly [name: string]: unknown }

export function onlyKnown(query: Query, known: readonly string[]): void {
  const unknown = Object.keys(query).find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw new PetrelError('invalid_request', `there is no query parameter '${unknown}'; known: ${known.join(', ')}`, {
    parameter: unknown,
  })
}

export function textParam(query: Query, name: string): string | null {
  const value = query[name]
  if (value === undefined || value === '') return null
  if (typeof value === 'string') return value
  throw new PetrelError('invalid_request', `${name} is given more than once`, { parameter: name })
}

/** A text that no row can contain is refused here: one store would find nothing, the other would fail. */
export function storableParam(query: Query, name: string): string | null {
  const text = textParam(query, name)
  if (text === null || (!text.includes('\u0000') && text.isWellFormed())) return text
  throw new PetrelError('invalid_request', `${name} holds a character that no ${name} can have`, { parameter: name })
}

/** `a,b` or repeated. */
export function listParam(query: Query, name: string, allowed: readonly string[]): readonly string[] | null {
  const value = query[name]
  if (value === undefined || value === '') return null
  const items = (Array.isArray(value) ? value : [value]).flatMap((v) => String(v).split(','))
  const wrong = items.find((item) => !allowed.includes(item))
  if (wrong === undefined) return items
  throw new PetrelError('invalid_request', `${name} cannot be '${wrong}'; one of ${allowed.join(', ')}`, {
    parameter: name,
  })
}

export function wholeParam(
  query: Query,
  name: string,
  bounds: { readonly least: number; readonly most: number; readonly fallback: number },
): number {
  const text = textParam(query, name)
  if (text === null) return bounds.fallback
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= bounds.least && value <= bounds.most) return value
  throw new PetrelError(
    'invalid_request',
    `${name} must be a whole number from ${bounds.least} to ${bounds.most}, not '${text}'`,
    { parameter: name },
  )
}
