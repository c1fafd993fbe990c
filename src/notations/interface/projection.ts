/** How a notation shows an instance: rows of the store become the terms of its author. */
import type { Queries } from '../../model/queries/queries.ts'
import type { InstanceRow, StoredEvent } from '../../model/rows.ts'
import type { Net, Node } from '../../net/net.ts'
import type { StepView } from '../../views/steps.ts'
import type { Shape } from '../../worker/shape.ts'
import type { EventLog } from './events.ts'
import type { Progress, Sheet } from './sheet.ts'
import type { MakeTrace } from './trace.ts'

/** What projections read from; the engine is one. */
export interface Reading {
  readonly queries: Queries
  net(hash: string): Promise<Net | null>
}

/** Counts what could not be shown. */
export interface Noting extends Reading {
  readonly faults: { note(place: string, id: string, error: unknown): void }
}

type Standing = Pick<InstanceRow, 'state' | 'outcome'>

/** With the fields that only this notation has, by their names in JSON. */
export type OwnStep = StepView & { readonly own?: { readonly [field: string]: unknown } }

export interface Steps {
  /** Those of the author, in the order of the file. */
  nodes(net: Net): readonly Node[]
  load(reading: Reading, net: Net, instance: InstanceRow, nodes: readonly Node[]): Promise<readonly OwnStep[]>
}

/** What a notation shows of an instance in addition to what all notations show. */
export interface Own {
  /** By the names of the fields in JSON. */
  readonly json: { readonly [field: string]: unknown }
  readonly counts: { readonly succeeded: number; readonly failed: number }
  sheet(now: number): Sheet
}

export interface Telemetry {
  /** Of the stored events that telemetry is made of. */
  readonly types: readonly string[]
  load(reading: Reading, events: readonly StoredEvent[]): Promise<readonly object[]>
}

export interface Terms {
  /** All values of `state`. Left out: those of the engine. */
  readonly states?: readonly string[]
  /** What an author's nodes are called. */
  readonly node: 'node' | 'step'
  /** What an instance is called. */
  readonly kind: string
  /** The categories of errors of its work; left out: any word is accepted. */
  readonly errorCategories?: readonly string[]
}

export interface Projection {
  /** The state of the whole, in one word. */
  state(row: Standing): string
  /** The same for a list, where nothing else is shown: it includes the outcome. */
  headline(row: Standing): string
  readonly steps: Steps
  /** null: the instance cannot be shown in this way. Left out: the notation shows nothing more. */
  readonly own?: (reading: Reading, instance: InstanceRow) => Promise<Own | null>
  /** The steps that began last, `most` of them. Left out: the runs are shown. */
  readonly progress?: (
    reading: Reading,
    instance: InstanceRow,
    how: { readonly now: number; readonly most: number },
  ) => Promise<Progress | null>
  /** Left out: the stored history. */
  readonly events?: EventLog
  readonly telemetry?: Telemetry
  /** Left out: the same words as for any net. */
  readonly trace?: MakeTrace
  /** What its work needs besides handlers: kinds of tools, subjects of services. */
  readonly uses?: { readonly name: string; of(net: Net): readonly string[] }
  /** Left out: the value of an instance is its results by node. */
  readonly result?: (reading: Reading, instance: InstanceRow) => Promise<Shape>
  /** What happens to finished work when an instance is cancelled. */
  readonly cancel: 'stop' | 'undo'
  readonly terms: Terms
}
