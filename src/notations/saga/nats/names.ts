/** Names on the wire, part of the contract in docs/nats.md. */
import { PetrelError } from '../../../kernel/errors.ts'

export const HEADERS = {
  instance: 'X-Workflow-Instance-Id',
  step: 'X-Workflow-Step-Id',
  tenant: 'X-Tenant-Id',
  replyTo: 'X-Reply-To',
} as const

export const CONTROLS = ['status', 'list', 'retry', 'cancel'] as const
export type Control = (typeof CONTROLS)[number]

/** All engine processes share a group: each request is answered by one of them. */
export const CONTROL_GROUP = 'petrel'
/**
 * What the requests of a transport reach: nothing; a tenant's own by its subject, and those without a tenant;
 * everything.
 */
export const CONTROL_REACHES = ['none', 'tenant', 'all'] as const
export type ControlReach = (typeof CONTROL_REACHES)[number]

export const START_CONSUMER = 'petrel-start'
export const COMPLETED_CONSUMER = 'petrel-step-completed'

export interface Names {
  readonly stream: string
  readonly start: string
  readonly completed: string
  /** A custom subject, such as that of a command, with the prefix. */
  under(subject: string): string
  control(what: Control): string
  /** The same, for one tenant; `*` for each. */
  tenantControl(tenant: string, what: Control): string
  /** Running relays answer here: a process that starts asks whether it is the only one. */
  readonly engines: string
}

const PREFIX = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/

/** `prefix`: separates deployments that share one NATS account; null: none. */
export function namesUnder(prefix: string | null): Names {
  if (prefix !== null && !PREFIX.test(prefix)) {
    throw new PetrelError(
      'invalid_request',
      `'${prefix}' is not a prefix of subjects: tokens of letters, digits, - and _`,
    )
  }
  const under = (subject: string): string => (prefix === null ? subject : `${prefix}.${subject}`)
  return {
    // A stream's name has no dots.
    stream: prefix === null ? 'PETREL_SAGA' : `PETREL_SAGA_${prefix.replaceAll('.', '_')}`,
    start: under('workflow.v1.start'),
    completed: under('workflow.v1.events.step-completed'),
    under,
    control: (what) => under(`workflow.v1.${what}`),
    tenantControl: (tenant, what) => under(`workflow.v1.tenants.${tenant}.${what}`),
    engines: under('workflow.v1.engines'),
  }
}
