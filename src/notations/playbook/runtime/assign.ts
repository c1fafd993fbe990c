/** `set`: targets such as `ctx.page`, `iter.page`, `step.page`. All values are known before the first is written. */
import { inOrder } from '../../../net/json.ts'
import type { Json } from '../../../net/net.ts'
import type { Fields, State } from './state.ts'

type Area = 'ctx' | 'iter' | 'step'

/** `known`: the current entries of the context, for targets below one of them. */
export function assign(state: State, values: Fields, known: Fields): State {
  let next = state
  for (const [target, value] of Object.entries(values)) next = assignOne(next, target, value, known)
  return next
}

function assignOne(state: State, target: string, value: Json, known: Fields): State {
  const { area, path } = readTarget(target)
  const [name, ...below] = path as [string, ...string[]]
  const before = Object.hasOwn(state[area], name) ? state[area][name] : area === 'ctx' ? own(known, name) : undefined
  return {
    ...state,
    [area]: { ...state[area], [name]: below.length === 0 ? inOrder(value) : merged(before, below, value, target) },
  }
}

/** The entry of the context that a target writes; null: another area. */
export function contextEntry(target: string): string | null {
  const { area, path } = readTarget(target)
  return area === 'ctx' ? (path[0] as string) : null
}

/** A name without an area is an entry of the context. */
function readTarget(target: string): { readonly area: Area; readonly path: readonly string[] } {
  const parts = target.split('.')
  if (parts.some((part) => part === '')) {
    throw new Error(`\`${target}\` is not a target: write ctx.<name>, iter.<name> or step.<name>`)
  }
  const [first, ...rest] = parts
  if (rest.length > 0 && (first === 'ctx' || first === 'iter' || first === 'step')) return { area: first, path: rest }
  return { area: 'ctx', path: parts }
}

/** Entries are written whole: a target below one replaces it by a copy with that part changed. */
function merged(before: Json | undefined, path: readonly string[], value: Json, target: string): Json {
  const [name, ...below] = path
  if (name === undefined) return value
  if (before !== undefined && before !== null && (typeof before !== 'object' || Array.isArray(before))) {
    throw new Error(
      `\`${target}\`: there is a ${Array.isArray(before) ? 'list' : typeof before} above it, not a mapping`,
    )
  }
  const fields = (before ?? {}) as Fields
  return { ...fields, [name]: merged(own(fields, name), below, value, target) }
}

function own(fields: Fields, name: string): Json | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}
