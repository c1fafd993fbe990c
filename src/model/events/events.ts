/**
 * The events of the audit trail, by type. Writers take a type and its data, so that neither can be wrong; consumers have a
 * table or a switch over all types of a group, so that a new type does not compile until each has decided what it means.
 *
 * Databases also contain types that are not declared here: those of newer versions, and dotted types of clients. Consumers
 * call a guard first and skip unknown types.
 */
import type { Json } from '../../net/net.ts'
import {
  GATE_EVENTS,
  type GateEventData,
  INSTANCE_EVENTS,
  type InstanceEventData,
  NODE_EVENTS,
  type NodeEventData,
} from './instance-events.ts'
import { RUN_EVENTS, type RunEventData } from './run-events.ts'
import { STORE_EVENTS, type StoreEventData } from './store-events.ts'

export interface EventData extends RunEventData, InstanceEventData, NodeEventData, GateEventData, StoreEventData {}

export type EventType = keyof EventData
export type RunEventType = keyof RunEventData
export type InstanceEventType = keyof InstanceEventData
export type NodeEventType = keyof NodeEventData
export type GateEventType = keyof GateEventData
export type StoreEventType = keyof StoreEventData

export type Event = {
  readonly [T in EventType]: { readonly type: T; readonly data: EventData[T] }
}[EventType]

/** Each type with a description of what it records. */
export const EVENTS: Readonly<Record<EventType, string>> = {
  ...RUN_EVENTS,
  ...INSTANCE_EVENTS,
  ...NODE_EVENTS,
  ...GATE_EVENTS,
  ...STORE_EVENTS,
}

export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[]

/**
 * First words of dotted types. Clients of plain SQL cannot write types that begin with one of them:
 * repeatable/70_events.sql.
 */
export const RESERVED_PREFIXES: readonly string[] = [
  ...new Set(EVENT_TYPES.filter((type) => type.includes('.')).map((type) => type.split('.', 1)[0] as string)),
].sort()

export function isRunEvent(type: string): type is RunEventType {
  return Object.hasOwn(RUN_EVENTS, type)
}

export function isInstanceEvent(type: string): type is InstanceEventType {
  return Object.hasOwn(INSTANCE_EVENTS, type)
}

/** Of a node that makes no run, or of a gate. `late_success` may be of the run or of its instance. */
export function isNodeEvent(type: string): type is NodeEventType | GateEventType | 'late_success' {
  return Object.hasOwn(NODE_EVENTS, type) || Object.hasOwn(GATE_EVENTS, type) || type === 'late_success'
}

export function isStoreEvent(type: string): type is StoreEventType {
  return Object.hasOwn(STORE_EVENTS, type)
}

type FieldsOf<D> = D extends readonly unknown[] ? never : D extends object ? keyof D : never

/** Data as read from the store: of any type, written by any version; long values are replaced by markers. */
export type StoredData = { readonly [F in FieldsOf<EventData[Exclude<EventType, 'progress'>]>]?: Json }

/** Where and when an event happened. */
export interface EventPlace {
  readonly runId: string | null
  readonly instanceId: string | null
  readonly seq: number | null
  readonly node: string | null
  readonly actor: string | null
  readonly tenant: string | null
  readonly at: number
}

/** Before it is written. */
export type NewEvent = Event & EventPlace

declare const eventText: unique symbol
/** Created by `eventRow` only, so that data always matches its type. */
export type EventText = string & { readonly [eventText]: true }

/** As it is written. */
export interface EventRow extends EventPlace {
  readonly type: EventType
  readonly data: EventText | null
}

export function eventRow({ runId, instanceId, seq, type, node, actor, tenant, data, at }: NewEvent): EventRow {
  const text = data === null ? null : (JSON.stringify(data) as EventText)
  return { runId, instanceId, seq, type, node, actor, tenant, data: text, at }
}

/** Of no run and no instance. */
export function storeEvent<T extends StoreEventType>(
  type: T,
  data: StoreEventData[T],
  { actor, tenant, at }: Pick<EventPlace, 'actor' | 'tenant' | 'at'>,
): NewEvent {
  return { runId: null, instanceId: null, seq: null, type, node: null, actor, tenant, data, at } as NewEvent
}
