/** Events of instances and of their nodes and gates. */
import type { Failure, InstanceOutcome, InstanceState, NetEventData } from '../../net/marking.ts'
import type { NodeFailure } from '../../net/slots.ts'
import type { PausedTimeouts } from '../pauses/pauses.ts'

/** `error`: why it failed or was stopped. */
export interface InstanceEnd {
  readonly outcome: InstanceOutcome | null
  readonly error?: NodeFailure
}

/** The place of the earlier instance at which one that repeats it begins. `instance`: the nested workflow that has the step. */
export interface RepeatedFrom {
  readonly step: string
  readonly fire?: number
  readonly item?: number
  readonly instance?: string
}

/** `args_edited`: which keys the edited arguments have, and their hash; the values are only in the run. */
interface Repeats {
  readonly actor?: string
  readonly input_edited?: true
  readonly from?: RepeatedFrom
  readonly args_edited?: { readonly keys?: readonly string[]; readonly sha256: string }
}

export interface InstanceEventData extends Pick<NetEventData, 'instance.draining' | 'instance.compensating'> {
  'instance.created': null
  /** It retries an earlier instance. */
  'instance.retries': Repeats & { readonly retry_of: string }
  /** It repeats an earlier instance, which keeps its own work. */
  'instance.forks': Repeats & { readonly fork_of: string }
  /** `slot`: the quota under which it is queued. */
  'instance.queued': { readonly slot: string } | null
  'instance.dequeued': null
  'instance.started': null
  'instance.waiting': null
  /** A number: at how many places an operator resumed it. null: it has stopped waiting. */
  'instance.resumed': NetEventData['instance.resumed'] | null
  /** The names of the entries. */
  'instance.patched': { readonly actor?: string; readonly set: readonly string[] }
  'instance.cancel_requested': { readonly actor?: string; readonly undo?: true } | null
  'instance.resume_requested': { readonly actor?: string } | null
  'instance.paused': { readonly reason?: string; readonly timeouts: PausedTimeouts }
  /** `cause`: it was not an operator who resumed it. */
  'instance.unpaused': { readonly paused_ms: number; readonly cause?: 'cancel' }
  'instance.completed': InstanceEnd
  'instance.failed': InstanceEnd
  'instance.cancelled': InstanceEnd
  'instance.compensated': InstanceEnd
}

export const INSTANCE_EVENTS = {
  'instance.created': 'The instance was created.',
  'instance.retries': 'The instance repeats an earlier one.',
  'instance.forks': 'The instance is a copy of an earlier one, which keeps its work.',
  'instance.queued': 'The instance entered the queue of its workflow.',
  'instance.dequeued': 'The instance left the queue and began.',
  'instance.started': 'Its first run started.',
  'instance.waiting': 'Only gates and held tokens are left.',
  'instance.resumed': 'The instance stopped waiting, or an operator resumed it.',
  'instance.patched': 'An operator changed the context.',
  'instance.cancel_requested': 'A client cancelled the instance.',
  'instance.resume_requested': 'An operator resumed the instance.',
  'instance.draining': 'The instance left the forward phase.',
  'instance.compensating': 'The undo began, or continues.',
  'instance.paused': 'An operator paused the instance.',
  'instance.unpaused': 'The pause ended: an operator resumed the instance, or cancelled it.',
  'instance.completed': 'The instance completed.',
  'instance.failed': 'The instance failed.',
  'instance.cancelled': 'The instance was cancelled.',
  'instance.compensated': 'All work of the instance was undone.',
} as const satisfies Record<keyof InstanceEventData, string>

/** A nested workflow that ended at its node. */
export interface ChildEnd {
  readonly child: string
  readonly name: string
  readonly state: InstanceState
  readonly duration_ms: number
  readonly error?: Failure
}

export interface NodeEventData
  extends Omit<NetEventData, 'instance.draining' | 'instance.compensating' | 'instance.resumed' | 'late_success'> {
  'node.completed': ChildEnd
  /** `rerun`: the failure is not final, since the policy of the net runs the work again. */
  'node.failed': ChildEnd & { readonly rerun?: true }
}

export const NODE_EVENTS = {
  'node.admitted': 'Admission let a token through.',
  'node.held': 'Admission holds a token.',
  'node.discarded': 'A token was discarded.',
  'node.fired': 'A node that makes no run fired.',
  'node.item_ended': 'A nested workflow that is an item ended.',
  'node.completed': 'The nested workflow of a node completed.',
  'node.failed': 'The nested workflow of a node did not complete.',
  'node.skipped': 'The work failed, and the workflow continues without it.',
  'node.rerun': 'The work failed, and the policy of the net has it done again.',
  'node.routed': 'The arcs of a node were evaluated.',
  'node.final_failed': 'A final failed.',
  'each.opened': 'A list began.',
  'each.closed': 'All items of a list have ended.',
} as const satisfies Record<keyof NodeEventData, string>

interface Answer {
  readonly gate: string
  readonly actor: string | null
  readonly reason: string | null
  readonly roles?: readonly string[]
}

export interface GateEventData {
  /** An appeal names the run that governance refused. */
  'gate.opened': {
    readonly gate: string
    readonly appeal?: true
    readonly step?: string
    readonly run?: string
    readonly error?: { readonly code: string; readonly message: string; readonly category: string | null }
  }
  'gate.linked': {
    readonly gate: string
    readonly link: string
    readonly subject: string
    readonly roles: readonly string[]
    readonly expires_at: string
  }
  'gate.voted': Answer & { readonly approved: boolean; readonly link?: string }
  'gate.escalated': { readonly gate: string; readonly stage: number; readonly roles?: readonly string[] }
  'gate.approved': Answer
  /** `rerun`: the policy of the net opens another gate. */
  'gate.rejected': Answer & { readonly rerun?: true }
  'gate.closed': { readonly gate: string }
}

export const GATE_EVENTS = {
  'gate.opened': 'A gate waits for people.',
  'gate.linked': 'A link to vote by was made.',
  'gate.voted': 'A person voted.',
  'gate.escalated': 'A gate was not decided in time, and more people may vote.',
  'gate.approved': 'The gate was approved.',
  'gate.rejected': 'The gate was rejected, by people or by the clock.',
  'gate.closed': 'The instance ended before the gate was decided.',
} as const satisfies Record<keyof GateEventData, string>
