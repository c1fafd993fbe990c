/**
 * Deploying and retiring definitions. Both lock the name, so that its versions, the schedule of its trigger and the events
 * that report the change are written together. The caller decides what happens to which version.
 */

import type { DefinitionHead, DefinitionName, DefinitionRow } from '../../model/definitions.ts'
import { definitionKey, latestOf } from '../../model/definitions.ts'
import { eventRow, type NewEvent } from '../../model/events/events.ts'
import type { JsonText, NetRow } from '../../model/rows.ts'
import type { Store } from '../../store/store.ts'
import { scheduleFor, scheduleName } from './definition-schedule.ts'

export interface Deployments {
  /** `decide` may be called several times, so it must depend on its arguments only. */
  change<T>(params: {
    readonly of: DefinitionName
    readonly decide: (versions: readonly DefinitionHead[], now: number) => DefinitionChange<T>
  }): Promise<T>
  /** Records an event that concerns no run and no instance. */
  record(event: (now: number) => NewEvent): Promise<void>
}

export interface DefinitionChange<T> {
  readonly result: T
  /** The versions after the change. Left out: unchanged. */
  readonly versions?: readonly DefinitionHead[]
  readonly put?: readonly DefinitionRow[]
  readonly retire?: readonly string[]
  readonly restore?: readonly string[]
  readonly tag?: readonly { readonly id: string; readonly tags: JsonText | null }[]
  readonly nets?: readonly NetRow[]
  readonly events?: readonly NewEvent[]
}

export function deploymentsOn(store: Store): Deployments {
  return {
    change: ({ of, decide }) => {
      const name = scheduleName(of)
      return store.transact({
        roots: [],
        wait: true,
        need: { definitions: [of], schedules: [name] },
        decide: ({ definitions, schedules, now }) => {
          const before = definitions.get(definitionKey(of)) ?? []
          const { result, versions = before, events = [], nets = [], ...rest } = decide(before, now)
          const schedule = scheduleFor(of, latestOf(versions)?.trigger ?? null, schedules.get(name), now)
          const put = schedule === null ? [] : [schedule]
          return { delta: { definitions: rest, nets, schedules: { put }, events: events.map(eventRow) }, result }
        },
      })
    },
    record: (event) =>
      store.transact({
        roots: [],
        wait: true,
        need: {},
        decide: ({ now }) => ({ delta: { events: [eventRow(event(now))] }, result: undefined }),
      }),
  }
}
