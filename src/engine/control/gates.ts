/** Gates as people decide them: votes, links to vote by, and the state of a vote. */

import { PetrelError } from '../../kernel/errors.ts'
import { storableText } from '../../kernel/json-limits.ts'
import type { GateAnswer, GateLink, GateView } from '../../model/gates.ts'
import { standingOf } from '../../model/gates.ts'
import type { GateRow, InstanceRow } from '../../model/rows.ts'
import { SLOT, slotValue } from '../../net/slots.ts'
import type { Store } from '../../store/store.ts'
import { recordEvent } from '../fold/events.ts'
import { castVote, decideGate, refuseDecided } from '../fold/gate-decisions.ts'
import { memberOf } from '../fold/members.ts'
import type { WorkingSet } from '../fold/working-set.ts'
import type { Offer } from '../transaction/handoff.ts'
import type { Transactor } from '../transaction/transactor.ts'

const LONGEST_NAME = 250
const MOST_ROLES = 100
/** How many levels of workflows that were started by workflows are searched for the initiator. */
const MOST_LEVELS = 100

export interface GateAnswersDeps {
  readonly store: Store
  readonly transactor: Transactor
  readonly offers: () => readonly Offer[]
  readonly maxPayloadBytes: number
}

export class GateAnswers {
  readonly #deps: GateAnswersDeps

  constructor(deps: GateAnswersDeps) {
    this.#deps = deps
  }

  async answer(p: GateAnswer): Promise<InstanceRow> {
    const roles = p.roles ?? []
    checkWho(p.actor, roles)
    const answer = p.answer === undefined ? null : storableText(p.answer, 'answer', this.#deps.maxPayloadBytes)
    if (p.reason !== undefined) storableText(p.reason, 'reason', this.#deps.maxPayloadBytes)
    const { gate: found, initiators } = await this.#find(p.gateId)
    return this.#on(found, (change, gate) => {
      const reason = p.reason ?? null
      if (p.force === true) decideGate(change, gate, { approved: p.approved, answer, reason, actor: p.actor, roles })
      else {
        const given = p.answer === undefined ? {} : { answer: p.answer }
        const vote = { by: p.actor, roles, approved: p.approved, ...given, reason, link: p.link ?? null }
        castVote(change, gate, { vote, initiators })
      }
      return memberOf(change, gate.instanceId).row
    })
  }

  /** Records that a link to vote by was issued. */
  async noteLink(p: GateLink): Promise<void> {
    checkWho(p.subject, p.roles)
    const { gate: found } = await this.#find(p.gateId)
    await this.#on(found, (change, gate) => {
      refuseDecided(gate)
      const { subject, roles, link } = p
      const data = { gate: gate.id, link, subject, roles, expires_at: new Date(p.expiresAt).toISOString() }
      recordEvent(change, memberOf(change, gate.instanceId), 'gate.linked', gate.node, data, p.actor)
    })
  }

  async view(gateId: string): Promise<GateView | null> {
    const gate = await this.#deps.store.read.gate(gateId)
    if (gate === null) return null
    const instance = await this.#deps.store.read.instance(gate.instanceId)
    if (instance === null) return null
    return { gate, instance, standing: standingOf(gate, await this.#initiators(instance)) }
  }

  async #on<T>(found: GateRow, fold: (change: WorkingSet, gate: GateRow) => T): Promise<T> {
    const { transactor, offers } = this.#deps
    const { value } = await transactor.run({
      roots: [found.rootId],
      wait: true,
      need: { instances: [found.instanceId], gates: [found.id] },
      offers,
      fold: (change) => fold(change, change.loaded.gates.get(found.id) as GateRow),
    })
    return value
  }

  async #find(id: string): Promise<{ readonly gate: GateRow; readonly initiators: readonly string[] }> {
    const gate = await this.#deps.store.read.gate(id)
    const instance = gate === null ? null : await this.#deps.store.read.instance(gate.instanceId)
    if (gate === null || instance === null) throw new PetrelError('not_found', `there is no gate ${id}`, { id })
    return { gate, initiators: await this.#initiators(instance) }
  }

  /** Who started the workflow, and who retried it: recorded in the outermost instance. */
  async #initiators({ rootId }: InstanceRow): Promise<readonly string[]> {
    const { read } = this.#deps.store
    let id = rootId
    for (let level = 0; level < MOST_LEVELS; level++) {
      const about = slotValue(await read.slots({ instanceId: id, prefix: SLOT.about.prefix }), SLOT.about.key)
      const names = [about?.initiator, about?.retried_by].filter((name) => typeof name === 'string')
      if (names.length > 0) return names
      // A detached child is a root of its own; its parent has the initiator, unless retention has removed the parent.
      const parent = (await read.instance(id))?.parentId ?? null
      const above = parent === null ? null : await read.instance(parent)
      if (above === null) return []
      id = above.rootId
    }
    return []
  }
}

function checkWho(name: string | null, roles: readonly string[]): void {
  const wrong = [...(name === null ? [] : [name]), ...roles].find((text) => !isName(text))
  if (wrong !== undefined) {
    throw new PetrelError('invalid_request', `a name or role has 1 to ${LONGEST_NAME} characters, and no control ones`)
  }
  if (roles.length > MOST_ROLES) throw new PetrelError('invalid_request', `more than ${MOST_ROLES} roles`)
}

function isName(text: string): boolean {
  return text.trim() !== '' && text.length <= LONGEST_NAME && text.isWellFormed() && !/\p{Cc}/u.test(text)
}
