/** Instances of a working set, and the nets they run. */

import type { CompiledNet } from '../../net/compile.ts'
import { NeedMore } from './need.ts'
import type { Member, Members } from './working-set.ts'

/** The instance, as a member of the transaction from now on. */
export function memberOf(change: Members, id: string): Member {
  const known = change.members.get(id)
  if (known !== undefined) return known
  const row = change.loaded.instances.get(id)
  if (row === undefined) throw new NeedMore({ instances: [id] })
  const member: Member = {
    row,
    seq: row.eventSeq,
    net: netOf(change, row.netHash),
    isNew: false,
    dirty: false,
    slots: new Map(),
    items: new Map(),
    facts: null,
  }
  change.members.set(id, member)
  change.deps.nets.remember(id, row.netHash)
  return member
}

export function netOf(change: Pick<Members, 'loaded' | 'deps'>, hash: string): CompiledNet {
  const { nets } = change.deps
  const known = nets.get(hash)
  if (known !== undefined) return known
  const row = change.loaded.nets.get(hash)
  if (row === undefined) throw new NeedMore({ nets: [hash] })
  return nets.load(row)
}
