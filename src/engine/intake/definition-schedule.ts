/**
 * The schedule of a definition's trigger: one row of the schedules, written in the transaction that deploys or retires.
 * It names the definition, so the version that is the latest when it fires is started.
 */
import { nextAfter } from '../../kernel/cron.ts'
import type { DefinitionName, TriggerWords } from '../../model/definitions.ts'
import type { JsonText, ScheduleRow } from '../../model/rows.ts'

/** The prefix of the names of such schedules. */
export const OF_DEFINITIONS = 'workflow:'

interface Template {
  readonly definition: string
  /** The state of a schedule that no version needs, as opposed to one that an operator paused. */
  readonly off?: true
}

/** Encoded, so that a slash in a name cannot make it a name of another tenant. */
export function scheduleName({ tenant, name }: DefinitionName): string {
  const own = encodeURIComponent(name)
  return `${OF_DEFINITIONS}${tenant === null ? '' : `${encodeURIComponent(tenant)}/`}${own}`
}

/** null: no change. `trigger`: that of the latest version; null: no version is in service, or it has no trigger. */
export function scheduleFor(
  of: DefinitionName,
  trigger: JsonText | null,
  before: ScheduleRow | undefined,
  now: number,
): ScheduleRow | null {
  const words = trigger === null ? null : (JSON.parse(trigger) as TriggerWords)
  if (words === null || words.schedule === null) return before === undefined ? null : turnedOff(of, before)
  const { schedule: expression, timezone } = words
  const template: Template = { definition: of.name }
  const wasOff = before !== undefined && (JSON.parse(before.template) as Template).off === true
  // A schedule that an operator paused stays paused, whatever is deployed.
  const enabled = before === undefined || before.enabled || wasOff
  const same = before !== undefined && before.expression === expression && before.timezone === timezone
  if (same && before.enabled === enabled) return null
  const name = scheduleName(of)
  return {
    name,
    expression,
    timezone,
    overlap: before?.overlap ?? 'skip',
    enabled,
    template: JSON.stringify(template),
    nextAt: enabled ? nextAfter(name, expression, timezone, now) : null,
    lastAt: before?.lastAt ?? null,
    lastId: before?.lastId ?? null,
    fireCount: before?.fireCount ?? 0,
    tenant: of.tenant,
    createdAt: before?.createdAt ?? now,
  }
}

function turnedOff(of: DefinitionName, before: ScheduleRow): ScheduleRow | null {
  if (!before.enabled) return null
  const template: Template = { definition: of.name, off: true }
  return { ...before, enabled: false, nextAt: null, template: JSON.stringify(template) }
}
