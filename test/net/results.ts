/** The results of work in the oracle. Each piece returns the name of its place, so no two results are equal. */
import type { Json, Node } from '../../src/net/net.ts'
import type { Account, Firing, Piece } from './pieces.ts'
import { resultAt, startedChild } from './world.ts'

export interface Remembered {
  readonly pieces: readonly Piece[]
  readonly account: Account
  /** The piece whose end is being handled. */
  readonly justEnded: Piece | null
}

/** What the name of a node means: the work that just ended, else its latest firing with a result. */
export function resultOf(node: Node, remembered: Remembered): Json {
  const { key, work } = node
  const { pieces, account, justEnded } = remembered
  if (work.kind === 'each' && work.collect === 'list') return listOf(key, pieces, account)
  if (work.kind === 'child' && work.mode === 'detached') {
    const started = account.detached.filter((child) => child.startsWith(`${key} `)).length
    return started === 0 ? null : startedChild(key, started - 1)
  }
  const own = pieces.filter((piece) => piece.node === node && piece.role === 'work' && piece.about === null)
  const done = own.filter((piece) => piece.state === 'succeeded')
  if (work.kind === 'gate' || work.kind === 'child') {
    const [last] = (work.kind === 'gate' ? done : own)
      .filter((piece) => piece.endedAt > 0)
      .sort((a, b) => b.endedAt - a.endedAt)
    return last?.state === 'succeeded' ? resultAt(last.nth, -1) : null
  }
  if (work.kind === 'run' && justEnded !== null && done.includes(justEnded)) return resultAt(justEnded.nth, -1)
  const latest = done.reduce((nth, piece) => Math.max(nth, piece.nth), -1)
  const last = done.find((piece) => piece.nth === latest)
  return last === undefined ? null : ofFiring(last.firing, pieces)
}

/** What an arc calls `event.result`. */
export function eventResult(firing: Firing, status: string, remembered: Remembered): Json {
  const { work } = firing.node
  if (work.kind === 'pass' || (work.kind === 'gate' && status !== 'succeeded')) return null
  const asNamed = work.kind === 'gate' || (work.kind === 'child' && work.mode === 'detached')
  if (asNamed || (work.kind === 'each' && work.collect === 'list')) return resultOf(firing.node, remembered)
  return ofFiring(firing, remembered.pieces)
}

function ofFiring(firing: Firing, pieces: readonly Piece[]): Json {
  const done = doneOf(firing, pieces)
  if (firing.node.work.kind === 'each') return Object.fromEntries(done.map((p) => [p.item, resultAt(p.nth, p.item)]))
  return done[0] === undefined ? null : resultAt(done[0].nth, -1)
}

function listOf(key: string, pieces: readonly Piece[], { lists }: Account): Json {
  const closed = lists.get(key)
  if (closed === undefined) return null
  const { firing, total, success, failed } = closed
  const results: Json[] = Array.from({ length: total }, () => null)
  for (const piece of doneOf(firing, pieces)) results[piece.item] = resultAt(piece.nth, piece.item)
  return { results, stats: { total, success, failed } }
}

function doneOf(firing: Firing, pieces: readonly Piece[]): readonly Piece[] {
  return pieces.filter((piece) => piece.firing === firing && piece.role === 'work' && piece.state === 'succeeded')
}
