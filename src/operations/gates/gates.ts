/** Gates: list, get, vote, and links to vote by. */
import { missing, PetrelError } from '../../kernel/errors.ts'
import { readId } from '../../kernel/ids.ts'
import type { GateAnswer, GateView } from '../../model/gates.ts'
import type { GateQuery } from '../../model/queries/queries.ts'
import type { GateRow, InstanceRow } from '../../model/rows.ts'
import { actorOf, maySee } from '../caller.ts'
import { operation, type Use } from '../operation.ts'
import { type Page, pageOf } from '../page.ts'
import { type Invitation, type LinkAsked, type MadeLink, makeLink, readLink } from './link.ts'

interface ById {
  readonly id: string
}

/** Newest first. */
export const listGates = operation(
  { scope: 'read' },
  ({ engine, caller: { tenant } }, query: Omit<GateQuery, 'tenant'>): Promise<Page<GateRow>> =>
    pageOf(query.limit, (limit) => engine.queries.listGates({ ...query, tenant, limit })),
)

export const showGate = operation({ scope: 'read' }, (use, { id }: ById): Promise<GateView> => findGate(use, id))

type Vote = Pick<GateAnswer, 'approved' | 'answer' | 'reason'>

/** The gate after a vote, and the state of its instance. */
export interface Voted {
  readonly view: GateView
  readonly instance: InstanceRow
}

/** One vote of the caller, with its roles, which determine at which gates it may vote. */
export const voteOnGate = operation({ scope: 'enqueue' }, async (use, { id, ...vote }: ById & Vote): Promise<Voted> => {
  const { gate } = await findGate(use, id)
  const { caller, engine } = use
  const instance = await engine.answerGate({ gateId: gate.id, ...vote, actor: actorOf(caller), roles: caller.roles })
  return { view: await findGate(use, id), instance }
})

/** Creates a link by which one person votes. */
export const makeGateLink = operation(
  { scope: 'admin' },
  async (use, { id, ...asked }: ById & Omit<LinkAsked, 'gateId' | 'actor'>): Promise<MadeLink> => {
    const { gate } = await findGate(use, id)
    return makeLink(use.engine, { ...asked, gateId: gate.id, actor: actorOf(use.caller) })
  },
)

/** What a link permits. */
export interface Invited {
  readonly invitation: Invitation
  readonly view: GateView
  /** By the store's clock. */
  readonly now: number
}

/** The link is the permission: it names the person and the gate, so any caller may use it. */
export const openLink = operation(
  'none',
  async ({ engine }, { token }: { readonly token: string }): Promise<Invited> => {
    const invitation = await readLink(engine, token)
    const [view, now] = await Promise.all([engine.gate(invitation.gateId), engine.queries.now()])
    if (view !== null) return { invitation, view, now }
    throw new PetrelError('not_found', `the gate ${invitation.gateId} no longer exists`, { id: invitation.gateId })
  },
)

/** One vote of the person named by the link. */
export const voteByLink = operation(
  'none',
  async (use, { token, ...vote }: Vote & { readonly token: string }): Promise<Voted> => {
    const { gateId, subject, roles, id: link } = await readLink(use.engine, token)
    const instance = await use.engine.answerGate({ ...vote, gateId, actor: subject, roles, link })
    const { view } = await openLink.run(use, { token })
    return { view, instance }
  },
)

async function findGate({ engine, caller }: Use, given: string): Promise<GateView> {
  const id = readId(given)
  const view = id === null ? null : await engine.gate(id)
  if (view === null || !maySee(caller, view.instance)) throw missing('gate', given)
  return view
}
