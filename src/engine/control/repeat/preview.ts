/** What a retry or fork would do again, and what it would take over: a page of steps, each with how much work it has. */
import { inputError } from '../../../kernel/errors.ts'
import type { Queries } from '../../../model/queries/queries.ts'
import type { AgainWhy, Preview, PreviewAgain, PreviewCarried } from '../../../model/queries/repeats.ts'
import type { WorkCount } from '../../../model/queries/work.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import type { CompiledNet } from '../../../net/compile.ts'
import { type EarlierPlace, type GoingBack, partOf } from '../../../net/going-back.ts'
import { isChildRef } from '../../../net/lists.ts'
import type { Json, Node } from '../../../net/net.ts'
import { SLOT } from '../../../net/slots.ts'
import type { Repetition, RepetitionDeps } from './repetition.ts'
import { hasEffect, UndoneWork } from './undone-work.ts'

/** How much work of a step is counted on each side of the chosen firing. */
export const MOST_COUNTED = 1000

interface Level {
  readonly instance: InstanceRow
  readonly net: CompiledNet
  readonly back: GoingBack | null
}

export async function previewOf(
  { queries, netOf }: RepetitionDeps,
  repetition: Repetition,
  page: { readonly after: string | null; readonly limit: number },
): Promise<Preview> {
  const { old, path, back, chosen } = repetition
  const levels: Level[] = []
  for (const [i, instance] of path.entries()) {
    const own = back === null || back.path === null ? back : { ...back, path: back.path.slice(i) }
    levels.push({ instance, net: await netOf(instance.netHash), back: own })
  }
  const places = levels.flatMap((level, i) =>
    level.net.net.nodes
      .filter(({ key, work }) => work.kind !== 'pass' && !key.startsWith('#'))
      .map((node) => ({ level, node, cursor: `${i}/${node.key}` })),
  )
  const first = page.after === null ? 0 : places.findIndex(({ cursor }) => cursor === page.after) + 1
  if (page.after !== null && first === 0) {
    throw inputError('invalid_request', 'after', 'not a place in this preview', { hint: 'Send next_after of a page.' })
  }
  const shown = places.slice(first, first + page.limit)
  const again: PreviewAgain[] = []
  const carried: PreviewCarried[] = []
  for (const level of levels) {
    const nodes = shown.filter((place) => place.level === level).map(({ node }) => node)
    if (nodes.length === 0) continue
    const { lines } = await linesOf(queries, level, nodes)
    again.push(...lines.again)
    carried.push(...lines.carried)
  }
  const last = first + shown.length < places.length ? (shown.at(-1)?.cursor ?? null) : null
  const from = chosen === null ? null : { ...chosen.place, instanceId: chosen.instance.id }
  return { old, from, again, carried, next: last }
}

async function linesOf(queries: Queries, level: Level, nodes: readonly Node[]): Promise<Lines> {
  const { instance, back } = level
  const lines = new Lines(instance.id)
  const [from, ...inner] = back?.path ?? []
  const keys = nodes.map(({ key }) => key)
  const fire = from?.fire ?? 0
  const undone = await UndoneWork.of(queries, instance)
  const counts = await queries.work.counts({ instanceId: instance.id, nodes: keys, fire, most: MOST_COUNTED })
  const chosen =
    from === undefined || from.item < 0 ? null : await queries.work.at({ instanceId: instance.id, ...from })
  for (const count of counts) {
    const node = level.net.byKey.get(count.node) as Node
    const part = back === null ? 'kept' : partOf(level.net, back, sideOf(from, count))
    const why: AgainWhy = inner.length > 0 ? 'contains_chosen' : 'chosen'
    let rest = count
    if (part === 'later') lines.again(count, back?.path === null ? 'beginning' : 'follows')
    else if (part === 'chosen' && (from?.item ?? -1) < 0) lines.again(count, why)
    else {
      // Of a list, one item was chosen: it is among those with its status.
      if (
        part === 'chosen' &&
        chosen?.status === count.status &&
        chosen.kind === count.kind &&
        chosen.unknown === count.unknown
      ) {
        lines.again({ ...count, count: 1 }, why)
        rest = { ...count, count: count.count - 1 }
      }
      lines.unchosen(rest, undone.count(node, rest, fire))
    }
  }
  await addGates(queries, level, nodes, lines)
  await addTakenOver(queries, level, nodes, counts, lines)
  return lines
}

function sideOf(from: EarlierPlace | undefined, { node, side }: WorkCount): EarlierPlace {
  return { node, fire: (from?.fire ?? 0) + side, item: from?.item ?? -1 }
}

async function addGates(queries: Queries, { instance }: Level, nodes: readonly Node[], lines: Lines): Promise<void> {
  const gates = nodes.filter(({ work }) => work.kind === 'gate')
  const found = await queries.steps.gatesAt(gates.map(({ key }) => ({ instanceId: instance.id, node: key })))
  for (const { node } of found) lines.again({ node, kind: 'gate', count: 1 }, 'asked_again')
}

/** Nested workflows that a still earlier instance completed. */
async function addTakenOver(
  queries: Queries,
  { instance, net, back }: Level,
  nodes: readonly Node[],
  counts: readonly WorkCount[],
  lines: Lines,
): Promise<void> {
  if (instance.retryOf === null) return
  const own = new Set(counts.map(({ node }) => node))
  for (const { key, work } of nodes) {
    if (work.kind !== 'child' || work.mode === 'detached' || own.has(key)) continue
    const text = await queries.slot({ instanceId: instance.id, key: SLOT.result.key(key) })
    if (text === null || !isChildRef(JSON.parse(text) as Json)) continue
    const child = { node: key, kind: 'child', count: 1 } as const
    const part = partOf(net, back, { node: key, fire: 0, item: -1 })
    if (part === 'kept') lines.carry(child)
    else lines.again(child, part === 'chosen' ? 'chosen' : back?.path === null ? 'beginning' : 'follows')
  }
}

type Counted = Pick<WorkCount, 'node' | 'kind' | 'count'>

class Lines {
  readonly #instanceId: string
  readonly #again = new Map<string, PreviewAgain>()
  readonly #carried = new Map<string, PreviewCarried>()

  constructor(instanceId: string) {
    this.#instanceId = instanceId
  }

  again(counted: Counted, why: AgainWhy): void {
    if (counted.count === 0) return
    const key = `${counted.node}/${counted.kind}/${why}`
    this.#again.set(key, { ...this.#line(counted, this.#again.get(key)), why })
  }

  carry(counted: Counted): void {
    if (counted.count === 0) return
    const key = `${counted.node}/${counted.kind}`
    this.#carried.set(key, this.#line(counted, this.#carried.get(key)))
  }

  /** Neither chosen nor after what was. */
  unchosen(counted: WorkCount, undone: number): void {
    if (!hasEffect(counted.status)) return this.again(counted, counted.unknown ? 'in_doubt' : 'unfinished')
    this.again({ ...counted, count: undone }, 'undone')
    this.carry({ ...counted, count: counted.count - undone })
  }

  #line({ node, kind, count }: Counted, before: PreviewCarried | undefined): PreviewCarried {
    const atLeast = count >= MOST_COUNTED || before?.atLeast === true
    return { instanceId: this.#instanceId, step: node, kind, count: count + (before?.count ?? 0), atLeast }
  }

  get lines(): { readonly again: readonly PreviewAgain[]; readonly carried: readonly PreviewCarried[] } {
    return { again: [...this.#again.values()], carried: [...this.#carried.values()] }
  }
}
