/** What starts a definition by itself, in words. */

interface Trigger {
  readonly event?: string | null
  readonly condition?: string | null
  readonly schedule?: string | null
  readonly timezone?: string
}

/** null: nothing does. */
export function triggerText(given: unknown): string | null {
  if (typeof given !== 'object' || given === null) return null
  const { event, condition, schedule, timezone } = given as Trigger
  const parts = [
    event == null ? '' : `event ${event}${condition == null ? '' : ` if ${condition}`}`,
    schedule == null
      ? ''
      : `schedule ${schedule}${timezone === undefined || timezone === 'UTC' ? '' : ` (${timezone})`}`,
  ].filter((part) => part !== '')
  return parts.length === 0 ? null : parts.join(', ')
}
