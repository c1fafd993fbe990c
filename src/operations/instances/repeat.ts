/** Instances that repeat an ended one: a retry, a fork, what they would do again; and waits that are cut short. */
import type { Preview, RepeatAsked } from '../../model/queries/repeats.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { OpenEffect } from '../../model/sagas.ts'
import type { Started } from '../../model/start.ts'
import { actorOf } from '../caller.ts'
import { operation } from '../operation.ts'
import { openEffects } from '../sagas/view.ts'
import { findInstance } from './find.ts'

type Asked = Omit<RepeatAsked, 'fork'> & { readonly startKey?: string }

/** `open`: effects that the rollback of the old one left, which the new one does not undo. */
export interface Repeated extends Started {
  readonly of: string
  readonly open: readonly OpenEffect[]
  readonly row: InstanceRow
}

/** Takes over the finished work of the old one, which did not complete. */
export const retryInstance = operation(
  { scope: 'enqueue' },
  async (use, { id: name, ...asked }: Asked): Promise<Repeated> => {
    const { id, rootId } = await findInstance(use, name)
    const open = await openEffects(use.engine, rootId)
    const made = await use.engine.retryInstance({ ...asked, id, actor: actorOf(use.caller) })
    return { ...made, of: rootId, open, row: await findInstance(use, made.id) }
  },
)

/** A copy of an ended instance, which keeps its own work. */
export const forkInstance = operation(
  { scope: 'enqueue' },
  async (use, { id: name, ...asked }: Asked): Promise<Repeated> => {
    const { id, rootId } = await findInstance(use, name)
    const made = await use.engine.retryInstance({ ...asked, id, fork: true, actor: actorOf(use.caller) })
    return { ...made, of: rootId, open: [], row: await findInstance(use, made.id) }
  },
)

/** What a retry or a fork would do again, and what it would take over. */
export const previewRepeat = operation(
  { scope: 'enqueue' },
  async (
    use,
    { id: name, ...asked }: RepeatAsked & { readonly after?: string | null; readonly limit?: number },
  ): Promise<Preview> => {
    const { id } = await findInstance(use, name)
    return use.engine.previewRetry({ ...asked, id })
  },
)

/** All runs of the instance that wait for a time are due at once. */
export const retryInstanceNow = operation(
  { scope: 'enqueue' },
  async (
    use,
    { id: name }: { readonly id: string },
  ): Promise<{ readonly count: number; readonly row: InstanceRow }> => {
    const { id } = await findInstance(use, name)
    const count = await use.engine.retryInstanceNow({ id, actor: actorOf(use.caller) })
    return { count, row: await findInstance(use, id) }
  },
)
