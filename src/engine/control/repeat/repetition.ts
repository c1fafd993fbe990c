/**
 * What an instance that repeats an ended one would do again: whether that is allowed, and the place, with its edited
 * arguments, that it goes back to. Reads only: the earlier instance has ended, so what is found here stays true.
 */
import { PetrelError } from '../../../kernel/errors.ts'
import type { Queries } from '../../../model/queries/queries.ts'
import type { RepeatAsked } from '../../../model/queries/repeats.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import type { CompiledNet } from '../../../net/compile.ts'
import type { GoingBack } from '../../../net/going-back.ts'
import { TERMINAL } from '../../../net/marking.ts'
import { type Chosen, choosePlace } from './chosen-place.ts'
import { editedArguments } from './edited-arguments.ts'
import { refuseStandingWork } from './standing-work.ts'

export interface Repetition {
  /** The root that is repeated. */
  readonly old: InstanceRow
  /** The root, and the nested workflows down to the one that has the step. */
  readonly path: readonly InstanceRow[]
  readonly net: CompiledNet
  readonly back: GoingBack | null
  /** Of the step that was named; null: none was. */
  readonly chosen: (Chosen & { readonly instance: InstanceRow }) | null
}

export interface RepetitionDeps {
  readonly queries: Queries
  readonly netOf: (hash: string) => Promise<CompiledNet>
  readonly maxPayloadBytes: number
}

export async function repetitionOf(deps: RepetitionDeps, asked: RepeatAsked): Promise<Repetition> {
  const { queries, netOf } = deps
  const { fork = false, from } = asked
  const row = await instanceOf(queries, asked.id)
  if (row.parentNode !== null && from === undefined) throw nested(row)
  const path = await pathTo(queries, row)
  const old = path[0] as InstanceRow
  checkState(old, fork, from !== undefined)
  const net = await netOf(old.netHash)
  if (from === undefined) {
    if (asked.args !== undefined || asked.patch !== undefined) throw withoutStep(asked.args === undefined)
    return { old, path, net, back: fork ? { fork, path: null } : null, chosen: null }
  }
  const own = await netOf(row.netHash)
  const chosen = await choosePlace({ queries, net: own, instance: row }, from)
  const args = await editedArguments({ ...chosen, ...deps, net: own, instanceId: row.id }, asked)
  const outer = path.slice(1).map((child) => ({
    node: child.parentNode as string,
    fire: child.parentFire,
    item: child.parentItem,
  }))
  const back: GoingBack = { fork, path: [...outer, chosen.place], ...(args === undefined ? {} : { args }) }
  if (!fork) {
    for (const [i, instance] of path.entries())
      await refuseStandingWork(deps, instance, { fork, path: back.path?.slice(i) ?? [] })
  }
  return { old, path, net, back, chosen: { ...chosen, instance: row } }
}

export async function instanceOf(queries: Queries, id: string): Promise<InstanceRow> {
  const row = await queries.instance(id)
  if (row === null) throw new PetrelError('not_found', `there is no instance ${id}`, { id })
  return row
}

/** The root, and the nested workflows down to this one. */
async function pathTo(queries: Queries, row: InstanceRow): Promise<readonly InstanceRow[]> {
  const path = [row]
  for (let at = row; at.parentNode !== null && at.parentId !== null; path.unshift(at)) {
    at = await instanceOf(queries, at.parentId)
  }
  return path
}

function nested({ id, rootId }: InstanceRow): PetrelError {
  return new PetrelError('conflict', `instance ${id} is nested; retry its root ${rootId}`, { root: rootId })
}

function checkState({ id, state, outcome }: InstanceRow, fork: boolean, step: boolean): void {
  if (!TERMINAL.has(state)) {
    if (!fork) throw new PetrelError('conflict', `instance ${id} is still ${state}; cancel it first`, { state })
    const hint = 'Wait until it has ended, or cancel it; then fork it.'
    throw new PetrelError('conflict', `instance ${id} is still ${state}; only what has ended is forked`, {
      state,
      hint,
    })
  }
  if (fork || state !== 'completed' || outcome !== 'success') return
  const hint = `Fork it${step ? ' from that step' : ''}: POST /v1/instances/${id}/fork.`
  throw new PetrelError('conflict', `instance ${id} completed; there is nothing to retry`, { state, hint })
}

function withoutStep(patch: boolean): PetrelError {
  const path = patch ? 'args_patch' : 'args'
  return new PetrelError('invalid_request', `${path}: without from, there is no step to give them to`, {
    path,
    hint: 'Name the step: from.step. The input of the whole instance is input.',
  })
}
