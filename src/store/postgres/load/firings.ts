/** Loads for single firings: results, places, and how often nodes have fired. */

import { type NodeRan, type PlaceAt, type ResultAt, type ResultText, TOO_LONG } from '../../../model/queries/firings.ts'
import type { InstanceRow, RunRow } from '../../../model/rows.ts'
import type { Need } from '../../../model/transaction.ts'
import * as column from '../columns.ts'
import { numberArray, textArray, uuidArray } from '../connection/batch.ts'
import type { Call, Fields } from '../connection/statement.ts'
import * as plain from './plain.ts'

export class Firings {
  readonly resultsAt = new Map<string, ResultText>()
  readonly ran = new Map<string, NodeRan[]>()
  readonly nextFires = new Map<string, number | null>()
  readonly placesAt = new Map<string, RunRow | null>()
  readonly childPlacesAt = new Map<string, InstanceRow | null>()
  readonly places = new Map<string, RunRow | null>()
  readonly childPlaces = new Map<string, InstanceRow | null>()

  calls(need: Need): Call[] {
    const calls: Call[] = []
    this.#placeCalls(need, calls)
    this.#firingCalls(need, calls)
    return calls
  }

  /** The latest run or child of an item, whichever firing it belongs to. */
  #placeCalls({ places, childPlaces }: Need, calls: Call[]): void {
    if (places !== undefined && places.length > 0) {
      for (const wanted of places) this.places.set(itemOf(wanted), null)
      const row = (fields: Fields): void =>
        void this.places.set(itemOf(asked(places, fields)), column.runFrom(fields, 1))
      calls.push({ statement: plain.PLACES, values: [...nodes(places), numbers(places, 'item')], row })
    }
    if (childPlaces !== undefined && childPlaces.length > 0) {
      for (const wanted of childPlaces) this.childPlaces.set(itemOf(wanted), null)
      const row = (fields: Fields): void =>
        void this.childPlaces.set(itemOf(asked(childPlaces, fields)), column.instanceFrom(fields, 1))
      calls.push({ statement: plain.CHILD_PLACES, values: [...nodes(childPlaces), numbers(childPlaces, 'item')], row })
    }
  }

  #firingCalls(
    { resultsAt = [], ran = [], nextFires = [], placesAt = [], childPlacesAt = [] }: Need,
    calls: Call[],
  ): void {
    if (resultsAt.length > 0) {
      const name = (n: (typeof resultsAt)[number]): string => `${n.instanceId}/${n.node}/${n.fire}`
      for (const wanted of resultsAt) this.resultsAt.set(name(wanted), null)
      const row = (fields: Fields): void => void this.resultsAt.set(name(asked(resultsAt, fields)), resultFrom(fields))
      calls.push({ statement: plain.RESULTS_AT, values: resultValues(resultsAt), row })
    }
    if (ran.length > 0) {
      for (const id of ran) this.ran.set(id, [])
      calls.push({ statement: plain.RAN, values: [uuidArray(ran)], row: (fields) => this.#count(fields) })
    }
    if (nextFires.length > 0) {
      const name = (n: (typeof nextFires)[number]): string => `${n.instanceId}/${n.node}/${n.after}`
      const row = (fields: Fields): void => {
        const fire = fields[1] ?? null
        this.nextFires.set(name(asked(nextFires, fields)), fire === null ? null : Number(fire))
      }
      calls.push({ statement: plain.NEXT_FIRES, values: [...nodes(nextFires), numbers(nextFires, 'after')], row })
    }
    if (placesAt.length > 0) {
      for (const wanted of placesAt) this.placesAt.set(nameOf(wanted), null)
      const row = (fields: Fields): void =>
        void this.placesAt.set(nameOf(asked(placesAt, fields)), column.runFrom(fields, 1))
      calls.push({ statement: plain.PLACES_AT, values: placeValues(placesAt), row })
    }
    if (childPlacesAt.length > 0) {
      for (const wanted of childPlacesAt) this.childPlacesAt.set(nameOf(wanted), null)
      const row = (fields: Fields): void =>
        void this.childPlacesAt.set(nameOf(asked(childPlacesAt, fields)), column.instanceFrom(fields, 1))
      calls.push({ statement: plain.CHILD_PLACES_AT, values: placeValues(childPlacesAt), row })
    }
  }

  /** A node may have both, runs and children, if items name their own work. */
  #count([id, node, fires, runs, done]: Fields): void {
    const all = this.ran.get(id as string) ?? []
    const at = all.findIndex((other) => other.node === node)
    const before = all[at] ?? { fires: 0, runs: 0, done: false }
    const counted: NodeRan = {
      node: node as string,
      fires: Math.max(before.fires, Number(fires)),
      runs: before.runs + Number(runs),
      done: before.done || done === 't',
    }
    if (at < 0) all.push(counted)
    else all[at] = counted
  }
}

/** Parameters of RESULTS_AT. */
export function resultValues(wanted: readonly ResultAt[]): string[] {
  return [...nodes(wanted), numbers(wanted, 'fire'), numbers(wanted, 'maxBytes')]
}

export function resultFrom([, text, tooLong]: Fields): ResultText {
  return tooLong === 't' ? TOO_LONG : (text ?? null)
}

/** The element that a row of a WITH ORDINALITY query belongs to. */
export function asked<T>(list: readonly T[], fields: Fields): T {
  return list[Number(fields[0]) - 1] as T
}

function nameOf({ instanceId, node, fire, item }: PlaceAt): string {
  return `${instanceId}/${node}/${fire}/${item}`
}

function itemOf({ instanceId, node, item }: NonNullable<Need['places']>[number]): string {
  return `${instanceId}/${node}/${item}`
}

function nodes(list: readonly { readonly instanceId: string; readonly node: string }[]): [string, string] {
  return [uuidArray(list.map((n) => n.instanceId)), textArray(list.map((n) => n.node))]
}

function numbers<K extends string>(list: readonly { readonly [key in K]: number }[], key: K): string {
  return numberArray(list.map((n) => n[key]))
}

function placeValues(list: readonly PlaceAt[]): string[] {
  return [...nodes(list), numbers(list, 'fire'), numbers(list, 'item')]
}
