/** The areas of a live page that an event concerns. */
export const AREAS = [
  'runs',
  'queues',
  'gates',
  'errors',
  'operations',
  'pauses',
  'schedules',
  'workers',
  'definitions',
  'registry',
] as const

export type Area = (typeof AREAS)[number]

const BY_PREFIX: Readonly<Record<string, readonly Area[]>> = {
  gate: ['gates'],
  operation: ['operations'],
  queue: ['queues', 'pauses'],
  cron: ['schedules'],
  schedule: ['schedules'],
  worker: ['workers'],
  workflow: ['definitions'],
  registry: ['registry'],
  run: ['runs', 'queues'],
  store: AREAS,
}
const BY_TYPE: Readonly<Record<string, readonly Area[]>> = {
  failed: ['runs', 'queues', 'errors'],
  progress: ['runs'],
  heartbeat: [],
  'instance.paused': ['pauses'],
  'instance.unpaused': ['pauses'],
  'workflow.paused': ['definitions', 'pauses'],
  'workflow.resumed': ['definitions', 'pauses'],
  'registry.paused': ['registry', 'pauses'],
  'registry.resumed': ['registry', 'pauses'],
}

/** Types without a dot are those of runs. */
export function areasOf(type: string): readonly Area[] {
  if (Object.hasOwn(BY_TYPE, type)) return BY_TYPE[type] ?? []
  const [prefix = '', rest] = type.split('.', 2)
  if (rest === undefined) return ['runs', 'queues']
  return Object.hasOwn(BY_PREFIX, prefix) ? (BY_PREFIX[prefix] ?? []) : []
}
