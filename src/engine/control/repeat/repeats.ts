/** Instances that repeat an ended one: a retry takes its work over, a fork leaves the work to it. */
import { PetrelError } from '../../../kernel/errors.ts'
import { canonical, sha256 } from '../../../kernel/hash.ts'
import { storableText } from '../../../kernel/json-limits.ts'
import { type EngineKey, storedKey } from '../../../kernel/scoped-names.ts'
import type { RepeatedFrom } from '../../../model/events/instance-events.ts'
import type { Preview, RepeatAsked } from '../../../model/queries/repeats.ts'
import type { InstanceRow } from '../../../model/rows.ts'
import type { Started } from '../../../model/start.ts'
import type { Need } from '../../../model/transaction.ts'
import { isMap } from '../../../net/json.ts'
import type { Json } from '../../../net/net.ts'
import { SLOT } from '../../../net/slots.ts'
import type { Store } from '../../../store/store.ts'
import { recordEvent } from '../../fold/events.ts'
import { factsOf } from '../../fold/facts.ts'
import { foldPending } from '../../fold/happenings.ts'
import { checkInput } from '../../fold/instance/input-defaults.ts'
import { createInstance, itemsWithoutNames, literalsWithoutNames } from '../../fold/instance/instance-creation.ts'
import { memberOf } from '../../fold/members.ts'
import { NeedMore } from '../../fold/need.ts'
import { quotaNeed } from '../../fold/quotas.ts'
import type { Member, WorkingSet } from '../../fold/working-set.ts'
import type { Offer } from '../../transaction/handoff.ts'
import type { Nets } from '../../transaction/nets.ts'
import { retryUntilStored } from '../../transaction/retry-until-stored.ts'
import type { Transactor } from '../../transaction/transactor.ts'
import { previewOf } from './preview.ts'
import { type Repetition, type RepetitionDeps, repetitionOf } from './repetition.ts'

export interface RepeatDeps {
  readonly store: Store
  readonly transactor: Pick<Transactor, 'run'>
  readonly nets: Nets
  readonly offers: () => readonly Offer[]
  readonly newId: () => string
  readonly maxPayloadBytes: number
}

export class Repeats {
  readonly #deps: RepeatDeps
  readonly #reading: RepetitionDeps

  constructor(deps: RepeatDeps) {
    this.#deps = deps
    const { store, nets, maxPayloadBytes } = deps
    const netOf = async (hash: string) => {
      const known = nets.get(hash)
      if (known !== undefined) return known
      const row = await store.read.net(hash)
      if (row === null) throw new PetrelError('not_found', `there is no net ${hash}`, { kind: 'net', id: hash })
      return nets.load(row)
    }
    this.#reading = { queries: store.read, netOf, maxPayloadBytes }
  }

  /** What it would do again, and what it would take over. Changes nothing. */
  async preview(p: RepeatAsked & { readonly after: string | null; readonly limit: number }): Promise<Preview> {
    const repetition = await repetitionOf(this.#reading, p)
    if (p.input !== undefined) checkInput(repetition.net.net.input, p.input, 'input')
    return previewOf(this.#reading, repetition, p)
  }

  /** Starts a new instance of the same net. */
  async repeat(
    p: RepeatAsked & { readonly startKey?: string | EngineKey; readonly actor: string | null },
  ): Promise<Started> {
    const { newId, maxPayloadBytes } = this.#deps
    if (p.input !== undefined) storableText(p.input, 'input', maxPayloadBytes)
    const repetition = await repetitionOf(this.#reading, p)
    const { old } = repetition
    const startKey = storedKey(p.startKey, old.tenant ?? undefined)
    const asked: Asked = { id: newId(), startKey, actor: p.actor, fork: p.fork === true, input: p.input }
    const act = async (): Promise<Started> => {
      const { transactor, offers } = this.#deps
      const fold = (change: WorkingSet): Started => create(change, repetition, asked)
      const { value } = await transactor.run({ roots: [], wait: true, need: needOf(old, startKey), offers, fold })
      return value
    }
    // Without a key it cannot be determined whether an uncertain commit happened.
    return startKey === null ? act() : retryUntilStored(act)
  }
}

interface Asked {
  readonly id: string
  readonly startKey: string | null
  readonly actor: string | null
  readonly fork: boolean
  readonly input: Json | undefined
}

function needOf({ id, quotaKey }: InstanceRow, startKey: string | null): Need {
  return {
    instances: [id],
    slotsWith: [SLOT.literals.prefix, SLOT.givenItems.prefix].map((prefix) => ({ instanceId: id, prefix })),
    slots: [{ instanceId: id, keys: [SLOT.input.key, SLOT.about.key] }],
    ...(startKey === null ? {} : { startKeys: [startKey] }),
    ...quotaNeed([quotaKey]),
  }
}

function create(change: WorkingSet, repetition: Repetition, asked: Asked): Started {
  const { old, back } = repetition
  const { id, startKey, actor, input } = asked
  const holder = startKey === null ? undefined : change.loaded.startKeys.get(startKey)
  if (holder !== undefined) return repeatedBefore(old.id, holder, asked.fork)
  const member = memberOf(change, old.id)
  if (input !== undefined) checkInput(member.net.net.input, input, 'input')
  const facts = factsOf(change, member)
  const created = createInstance(change, {
    id,
    netHash: old.netHash,
    parent: null,
    tenant: old.tenant,
    startKey,
    retryOf: old.id,
    goingBack: back,
    actor,
    input: (input === undefined ? facts.slot(SLOT.input.key) : input) ?? null,
    meta: repeatedBy(facts.slot(SLOT.about.key) ?? null, actor, asked.fork),
    ...startOf(change, member),
    quotaKey: old.quotaKey,
    fairKey: old.fairKey,
  })
  record(change, created, repetition, asked)
  foldPending(change)
  return { id, created: true }
}

/** What the start of the old one contained. */
function startOf(change: WorkingSet, member: Member) {
  const facts = factsOf(change, member)
  const instanceId = member.row.id
  const literals = Object.assign({}, ...(facts.slotsWith(SLOT.literals.prefix) ?? []).map((s) => s.value)) as never
  const items: Record<string, readonly Json[]> = {}
  for (const slot of facts.slotsWith(SLOT.givenItems.prefix) ?? []) {
    const node = SLOT.givenItems.nameIn(slot.key)
    const count = slot.value as number
    const values = facts.items(node, 0, 0, count)
    if (values === undefined) throw new NeedMore({ items: [{ instanceId, node, fire: 0, from: 0, count }] })
    items[node] = itemsWithoutNames(values)
  }
  return { literals: literalsWithoutNames(literals), items }
}

function record(change: WorkingSet, created: Member, { old, chosen, back }: Repetition, asked: Asked): void {
  const from: RepeatedFrom | null =
    chosen === null
      ? null
      : {
          step: chosen.place.node,
          ...(chosen.place.fire === 0 ? {} : { fire: chosen.place.fire }),
          ...(chosen.place.item < 0 ? {} : { item: chosen.place.item }),
          ...(chosen.instance.id === old.id ? {} : { instance: chosen.instance.id }),
        }
  const more = {
    ...(asked.actor === null ? {} : { actor: asked.actor }),
    ...(asked.input === undefined ? {} : { input_edited: true as const }),
    ...(from === null ? {} : { from }),
    ...(back?.args === undefined ? {} : { args_edited: editOf(back.args) }),
  }
  if (asked.fork) recordEvent(change, created, 'instance.forks', null, { fork_of: old.id, ...more })
  else recordEvent(change, created, 'instance.retries', null, { retry_of: old.id, ...more })
}

/** The values themselves, which may be secret, are only in the run. */
function editOf(args: Json): { readonly keys?: readonly string[]; readonly sha256: string } {
  return {
    ...(isMap(args) ? { keys: Object.keys(args).sort().slice(0, MOST_KEYS) } : {}),
    sha256: sha256(canonical(args)),
  }
}

const MOST_KEYS = 100

/** The start key of a retry returns only that retry. */
function repeatedBefore(id: string, holder: InstanceRow, fork: boolean): Started {
  if (holder.retryOf === id) return { id: holder.id, created: false }
  const what = fork ? 'fork' : 'retry'
  throw new PetrelError('duplicate', `this start key is taken, and not by a ${what} of instance ${id}`)
}

/** A person who retries a workflow counts as an initiator, like the person who started it. */
function repeatedBy(meta: Json | null, actor: string | null, fork: boolean): Json | null {
  if (actor === null) return meta
  const before = typeof meta === 'object' && !Array.isArray(meta) ? meta : {}
  return fork ? { ...before, initiator: actor } : { ...before, retried_by: actor }
}
