/** The lines of the picture: one for each step, which opens into one for each of its firings and items. */
import type { Row } from './decode.ts'

export interface Lane {
  /** Unique, and the same after the next answer. */
  readonly key: string
  readonly node: string
  readonly label: string
  /** In the order in which they began. */
  readonly rows: readonly Row[]
  readonly state: string
  readonly isUndo: boolean
  /** 1: of one firing or item, below its step. */
  readonly depth: 0 | 1
  /** null: it has nothing to open. */
  readonly isOpen: boolean | null
}

const WORST_FIRST = ['failed', 'rejected', 'leased', 'running', 'open', 'waiting', 'pending']

export function lanesOf(rows: readonly Row[], open: ReadonlySet<string>, search = ''): readonly Lane[] {
  const text = search.trim().toLowerCase()
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    if (text !== '' && !row.node.toLowerCase().includes(text) && !row.type?.toLowerCase().includes(text)) continue
    const key = `${row.role === 'undo' ? 'undo' : 'work'} ${row.node === '' ? (row.child?.id ?? '') : row.node}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  const found = [...groups].map(([key, group]) => [key, group.sort(byBegin)] as const)
  found.sort(([, [a]], [, [b]]) => byBegin(a as Row, b as Row))
  return found.flatMap(([key, group]) => {
    const [first] = group as [Row]
    const isUndo = first.role === 'undo'
    const name = first.node === '' ? (first.child?.name ?? '') : first.node
    const isOpen = group.length > 1 ? open.has(key) : null
    const label = `${isUndo ? 'undo ' : ''}${name}${group.length > 1 ? ` ×${group.length}` : ''}`
    const lane: Lane = { key, node: first.node, label, rows: group, state: worst(group), isUndo, depth: 0, isOpen }
    if (isOpen !== true) return [lane]
    // Firings are counted over the whole instance.
    const fires = [...new Set(group.map(({ fire }) => fire))].sort((a, b) => a - b)
    const inner = group.map((row): Lane => {
      const own = `${key} ${row.fire} ${row.item ?? ''}`
      const time = `time ${fires.indexOf(row.fire) + 1}`
      const of = row.item === null ? time : fires.length > 1 ? `${time}, item ${row.item}` : `item ${row.item}`
      return { ...lane, key: own, label: of, rows: [row], state: row.state, depth: 1, isOpen: null }
    })
    return [lane, ...inner]
  })
}

function byBegin(a: Row, b: Row): number {
  return a.from - b.from || a.fire - b.fire || (a.item ?? -1) - (b.item ?? -1)
}

function worst(rows: readonly Row[]): string {
  const states = new Set(rows.map(({ state }) => state))
  return WORST_FIRST.find((state) => states.has(state)) ?? (rows.at(-1) as Row).state
}
