/**
 * Instances that are started: checked before the transaction, and created by it unless their start key or id is taken.
 */

import { PetrelError } from '../../kernel/errors.ts'
import { isId } from '../../kernel/ids.ts'
import { storedKey, unscopedName } from '../../kernel/scoped-names.ts'
import { quotaKey, tenantLimit } from '../../model/limits.ts'
import { storedFairKey } from '../../model/queues/fair.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { Started, StartLimits, StartParams } from '../../model/start.ts'
import type { Need } from '../../model/transaction.ts'
import type { Json } from '../../net/net.ts'
import { foldPending } from '../fold/happenings.ts'
import { createInstance } from '../fold/instance/instance-creation.ts'
import { quotaNeed } from '../fold/quotas.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import type { Nets } from '../transaction/nets.ts'
import { type FirstRun, idTaken, needOfRules } from './first-look.ts'
import { checkStart } from './start-check.ts'

export interface Creation {
  readonly params: StartParams
  readonly id: string
  /** As stored. */
  readonly startKey: string | null
  readonly hash: string
  readonly hashes: readonly string[]
  readonly bytes: number
}

export interface CreationDeps extends StartLimits {
  readonly nets: Nets
  readonly newId: () => string
}

export function creationOf(params: StartParams, deps: CreationDeps): Creation {
  if (params.id !== undefined && !isId(params.id)) {
    throw new PetrelError('invalid_request', `start.id: a UUID in lower case, e.g. ${deps.newId()}`)
  }
  const { hashes, bytes } = checkStart(params, deps.nets, deps)
  return {
    params,
    id: params.id ?? deps.newId(),
    startKey: storedKey(params.startKey, params.tenant),
    hash: hashes[0] as string,
    hashes,
    bytes,
  }
}

export function needOfCreations(creations: readonly Creation[], nets: Nets, unsure: boolean): Need {
  const runs: FirstRun[] = []
  const startKeys: string[] = []
  // An id that the caller chose may be taken; a generated one only by an earlier commit of this call.
  const chosen: string[] = []
  const limited: (string | null)[] = []
  for (const creation of creations) {
    const { params } = creation
    addFirstRuns(creation, nets, runs)
    if (creation.startKey !== null) startKeys.push(creation.startKey)
    if (unsure || params.id !== undefined) chosen.push(creation.id)
    if (params.slots !== undefined) limited.push(quotaKeyOf(params))
  }
  const need: { -readonly [K in keyof Need]: Need[K] } = needOfRules(runs, creations)
  if (startKeys.length > 0) need.startKeys = startKeys
  if (chosen.length > 0) need.instances = chosen
  return limited.length === 0 ? need : { ...need, ...quotaNeed(limited) }
}

/** Adds what the first runs of a new instance will be, as far as its net determines it. */
function addFirstRuns({ hash, params }: Creation, nets: Nets, runs: FirstRun[]): void {
  const net = nets.get(hash)
  for (const key of params.net.entry) {
    const work = net?.byKey.get(key)?.work
    runs.push(work?.kind === 'run' ? work : { queue: 'default', limitKey: null })
  }
}

export function createStarted(
  change: WorkingSet,
  creation: Creation,
  p: { readonly nets: Nets; readonly taken: Map<string, string>; readonly unsure: boolean },
): Started {
  const { nets, taken, unsure } = p
  const { params } = creation
  const known = change.loaded.instances.get(creation.id)
  // After an uncertain commit, an equal instance is the one that this call created.
  if (known !== undefined && unsure && known.netHash === creation.hash) return { id: creation.id, created: true }
  if (known !== undefined || change.members.has(creation.id)) throw idTaken('instance', creation.id)
  const key = creation.startKey
  if (key !== null) {
    const stored = change.loaded.startKeys.get(key)
    if (stored !== undefined) checkSameStart(stored, params)
    const holder = stored?.id ?? taken.get(key)
    if (holder !== undefined) return { id: holder, created: false }
    taken.set(key, creation.id)
  }
  for (const hash of creation.hashes) {
    const row = nets.unstored(hash)
    if (row !== null) change.netRows.set(hash, row)
  }
  for (const name of params.names ?? []) change.names.push({ name, rootId: creation.id })
  for (const limit of params.limits ?? []) change.admission.set(tenantLimit(limit, params.tenant))
  const quota = quotaKeyOf(params)
  if (quota !== null && params.slots !== undefined) change.admission.set({ key: quota, maxConcurrent: params.slots })
  const about: Record<string, Json> = {}
  if (params.initiator !== undefined) about.initiator = params.initiator
  if (params.tags !== undefined && params.tags.length > 0) about.tags = [...new Set(params.tags)]
  if (params.meta !== undefined) about.meta = params.meta
  createInstance(change, {
    id: creation.id,
    netHash: creation.hash,
    parent: null,
    tenant: params.tenant ?? null,
    startKey: key,
    retryOf: null,
    actor: params.initiator ?? null,
    input: params.input ?? null,
    meta: Object.keys(about).length === 0 ? null : about,
    literals: params.literals ?? null,
    items: (params.items as { readonly [node: string]: readonly Json[] } | undefined) ?? null,
    quotaKey: quota,
    fairKey: storedFairKey(params.fairKey, params.tenant),
    idle: params.start === false,
  })
  foldPending(change)
  return { id: creation.id, created: true }
}

function quotaKeyOf({ slots, net, tenant }: StartParams): string | null {
  return slots === undefined ? null : quotaKey(net.name, tenant ?? null)
}

/**
 * A key returns the instance it was first used for, in any version of its workflow, but never one of another workflow.
 */
function checkSameStart(holder: InstanceRow, { net, tenant: given }: StartParams): void {
  const tenant = given ?? null
  if (holder.name === net.name && holder.dialect === net.dialect && holder.tenant === tenant) return
  const key = unscopedName(holder.startKey)
  const details = { field: 'start_key', key, ...(holder.tenant === tenant ? { existing: holder.id } : {}) }
  throw new PetrelError('duplicate', `start key '${key}' belongs to another instance, of '${holder.name}'`, details)
}
