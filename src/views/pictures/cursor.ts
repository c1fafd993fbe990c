/** Places in the rows of an instance, as texts from which a page continues. */
import type { ChildPlace, GatePlace, RunPlace } from '../../model/queries/places.ts'

/** `after`: null: from the beginning. A detached child has no place, so its id stands for it. */
export type Cursor =
  | { readonly section: 'gate'; readonly after: GatePlace | null }
  | { readonly section: 'child'; readonly after: ChildPlace | null }
  | { readonly section: 'detached'; readonly after: string | null }
  | { readonly section: 'run'; readonly after: RunPlace | null }

const LETTERS = { gate: 'g', child: 'c', run: 'r' } as const

export function cursorText({ section, after }: Cursor): string {
  if (section === 'detached') return encoded(`d:${after ?? ''}`)
  const { node = '', fire = 0 } = after ?? {}
  const item = section === 'gate' || after === null ? -1 : after.item
  const role = section === 'run' && after !== null ? after.role : ''
  return encoded([LETTERS[section], fire, item, role, node].join(':'))
}

/** null: no such place. */
export function cursorIn(text: string): Cursor | null {
  const plain = Buffer.from(text, 'base64url').toString()
  const detached = /^d:([0-9a-f-]{36}|)$/.exec(plain)
  if (detached !== null) return { section: 'detached', after: detached[1] || null }
  const found = /^([gcr]):(\d{1,9}):(-1|\d{1,9}):(work|undo|final|):(.*)$/s.exec(plain)
  if (found === null) return null
  const [, letter, fire, item, role = '', node = ''] = found
  const place = node === '' ? null : { node, fire: Number(fire), item: Number(item) }
  if (letter === 'g') return { section: 'gate', after: place }
  if (letter === 'c') return { section: 'child', after: place }
  return { section: 'run', after: place === null ? null : { ...place, role } }
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64url')
}
