/**
 * The first due runs of a queue, in the order in which claims take them. Like a claim, it jumps in the claim index from
 * one type and priority to the next; runs beyond the bound, or due later, are not read.
 */
import { readClock } from '../clock.ts'
import { NEXT_PRIORITY, WAITING, waitingTypes } from '../load/claimable.ts'
import type { Reading } from '../long-reads.ts'

const DUE = `SELECT id, run_at ${WAITING} AND queue = ?1 AND type = ?2 AND priority = ?3 AND run_at <= ?4
  AND (expires_at IS NULL OR expires_at > ?4) ORDER BY run_at, id LIMIT ?5 + 0`

export function frontOf(
  connection: Reading,
  { queue, most }: { readonly queue: string; readonly most: number },
): readonly string[] {
  const now = readClock(connection)
  const nextOf = (type: string, after: number): number | null =>
    (connection.statement(NEXT_PRIORITY).get(queue, type, after)?.[0] as number | undefined) ?? null
  let lines = waitingTypes(connection, queue, '').map((type) => ({
    type,
    level: nextOf(type, Number.MIN_SAFE_INTEGER),
  }))
  const front: string[] = []
  for (;;) {
    lines = lines.filter(({ level }) => level !== null)
    if (lines.length === 0 || front.length >= most) return front
    const level = lines.reduce((least, line) => Math.min(least, line.level as number), Number.MAX_SAFE_INTEGER)
    const here = lines.filter((line) => line.level === level)
    const due = here.flatMap(({ type }) => connection.statement(DUE).all(queue, type, level, now, most - front.length))
    due.sort((a, b) => (a[1] as number) - (b[1] as number) || ((a[0] as string) < (b[0] as string) ? -1 : 1))
    front.push(...due.slice(0, most - front.length).map(([id]) => id as string))
    for (const line of here) line.level = nextOf(line.type, level)
  }
}
