/**
 * External events start the definitions that listen to them: the latest version of each name whose trigger names the
 * event, if its condition is true. Each start is a separate transaction, under a key derived from the event's id: if a
 * process dies half way, the same event sent again starts the rest, and nothing twice.
 */

import type { EngineApi } from '../../engine/api.ts'
import { newEvaluator } from '../../expr/index.ts'
import { PetrelError } from '../../kernel/errors.ts'
import { newId } from '../../kernel/ids.ts'
import { storableText } from '../../kernel/json-limits.ts'
import type { Logger } from '../../kernel/logger.ts'
import { closest } from '../../kernel/reading/part.ts'
import type { DefinitionHead, TriggerWords } from '../../model/definitions.ts'
import { storeEvent } from '../../model/events/events.ts'
import type { Json } from '../../net/net.ts'
import { actorOf } from '../caller.ts'
import { operation } from '../operation.ts'

export interface Publish {
  readonly type: string
  readonly payload: Json
  /** null: one is generated. With the same id, an event starts nothing twice. */
  readonly id: string | null
  readonly tenant: string | null
  readonly actor: string | null
}

export interface Published {
  readonly id: string
  readonly started: readonly {
    readonly name: string
    readonly version: string
    readonly instanceId: string
    /** false: the same event had already started it. */
    readonly created: boolean
  }[]
  /** Listeners that did not start: the condition was false or could not be evaluated, or the start was refused. */
  readonly passed: readonly { readonly name: string; readonly condition: string | null; readonly why: string }[]
}

type Started = Published['started'][number]
type Passed = Published['passed'][number]

const LONGEST_WORD = 200
const MOST_KNOWN = 100
/** Not about one definition: the store is unavailable, or no definition could start with this payload. */
const OF_ALL: ReadonlySet<string> = new Set(['unavailable', 'unstorable', 'payload_too_large'])

const evaluate = newEvaluator()

export class Events {
  readonly #engine: EngineApi
  readonly #logger: Logger | null

  constructor(p: { readonly engine: EngineApi; readonly logger: Logger | null }) {
    this.#engine = p.engine
    this.#logger = p.logger
  }

  async publish(p: Publish): Promise<Published> {
    const { definitions } = this.#engine.queries
    checkWord(p.type, 'type')
    if (p.id !== null) checkWord(p.id, 'id')
    const id = p.id ?? newId()
    const listening = await definitions.listening({ tenant: p.tenant, event: p.type })
    if (listening.length === 0) throw await this.#unknown(p)
    const started: Started[] = []
    const passed: Passed[] = []
    for (const head of listening) {
      const { condition } = JSON.parse(head.trigger as string) as TriggerWords
      const why = condition === null ? null : this.#whyNot(condition, { ...p, id })
      if (why !== null) passed.push({ name: head.name, condition, why })
      else {
        const outcome = await this.#start(head, { ...p, id })
        if (Array.isArray(outcome)) started.push(...outcome)
        else passed.push({ name: head.name, condition, why: outcome as string })
      }
    }
    await this.#tell({ ...p, id }, started, passed)
    return { id, started, passed }
  }

  /** null: the condition is true. */
  #whyNot(condition: string, { type, payload, id }: Publish): string | null {
    const own = typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload : {}
    const scope = { ...(own as { readonly [key: string]: Json }), payload, event: { type, id, payload } }
    try {
      return evaluate.truth(condition, scope) ? null : 'the condition does not hold'
    } catch (error) {
      const { message } = error as Error
      this.#logger?.warn({ event: id }, `event '${type}': condition ${condition} cannot be evaluated: ${message}`)
      return `the condition cannot be evaluated: ${message}`
    }
  }

  /** Why it was refused, if it was: a definition that cannot be started must not prevent the others from starting. */
  async #start(head: DefinitionHead, p: Publish): Promise<readonly Started[] | string> {
    const { name } = head
    try {
      const made = await this.#engine.triggerDefinition({
        of: head,
        key: eventKey(p, name),
        input: p.payload,
        trigger: { kind: 'event', event: p.type, event_id: p.id },
        actor: p.actor,
      })
      return made.map(({ id, created, version }) => ({
        name,
        version: version ?? head.version,
        instanceId: id,
        created,
      }))
    } catch (error) {
      if (!(error instanceof PetrelError) || OF_ALL.has(error.code)) throw error
      this.#logger?.warn({ event: p.id }, `event '${p.type}' did not start '${name}': ${error.message}`)
      return error.message
    }
  }

  async #tell(p: Publish, started: readonly Started[], passed: readonly Passed[]): Promise<void> {
    const data = {
      event: p.type,
      event_id: p.id,
      started: started.map(({ name, version, instanceId, created }) => ({ name, version, id: instanceId, created })),
      passed,
    }
    const { actor, tenant } = p
    await this.#engine.deployments.record((at) => storeEvent('workflow.triggered', data, { actor, tenant, at }))
  }

  async #unknown({ type, tenant }: Publish): Promise<PetrelError> {
    const known = await this.#engine.queries.definitions.events({ tenant })
    const near = closest(type, known)
    const hint =
      known.length === 0
        ? 'no workflow in service has a trigger with an event'
        : near === null
          ? `known: ${known.slice(0, 10).join(', ')}${known.length > 10 ? ' …' : ''}`
          : `did you mean '${near}'?`
    const details = { event: type, known: known.slice(0, MOST_KNOWN), did_you_mean: near }
    return new PetrelError('unknown_event', `no definition listens to event '${type}'; ${hint}`, details)
  }
}

/** Names are encoded, since an id may contain colons. The same id in two tenants means two events. */
function eventKey({ id, tenant }: Publish, name: string): string {
  const whose = tenant === null ? 'petrel:event' : `petrel:event@${encodeURIComponent(tenant)}`
  return `${whose}:${id}:${encodeURIComponent(name)}`
}

function checkWord(word: string, what: 'type' | 'id'): void {
  if (typeof word !== 'string' || word === '' || word.length > LONGEST_WORD) {
    const example = what === 'type' ? "'order.created'" : "'ord-123'"
    const message = `${what} of an event: 1 to ${LONGEST_WORD} characters, such as ${example}`
    throw new PetrelError('invalid_request', message, { field: what })
  }
  storableText(word, `${what} of an event`, LONGEST_WORD * 8, { field: what })
}

/** Starts the listeners of this event in the caller's tenant. */
export const publishEvent = operation(
  { scope: 'enqueue' },
  ({ engine, logger, caller }, event: Pick<Publish, 'type' | 'payload' | 'id'>): Promise<Published> =>
    new Events({ engine, logger }).publish({ ...event, tenant: caller.tenant, actor: actorOf(caller) }),
)
