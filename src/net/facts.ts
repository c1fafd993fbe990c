/** What fire may know beyond the marking, and how facts report that something is not loaded. */
import type { Expr, Json } from './net.ts'
import type { SlotKey, SlotPrefix } from './slots.ts'

/**
 * A fact cannot be given before more is loaded, and undefined would not identify what. fire does not catch it: the
 * caller that provided the facts throws it, and catches it.
 */
export class Unloaded extends Error {}

/** How often a node has fired, counted from its runs and children. */
export interface Ran {
  readonly node: string
  readonly fires: number
  /** Runs; those of items count one by one. */
  readonly runs: number
  /** Some of the work succeeded, so the node has a result. */
  readonly done: boolean
}

/** Each method answers undefined for "not loaded"; fire then stops and asks for it. */
export interface Facts {
  /** The instance's id. */
  readonly instance: string
  /** null: known to be absent. */
  slot(key: SlotKey): Json | undefined
  /** Slots under a prefix, by key. */
  slotsWith(prefix: SlotPrefix): readonly { readonly key: string; readonly value: Json }[] | undefined
  /** The slot with the greatest key under a prefix; null: none. */
  topSlot(prefix: SlotPrefix): { readonly key: string; readonly value: Json } | null | undefined
  /**
   * Result of the latest work of a node; null: none. With a firing: of that one; if it is a list, the results of the
   * items that succeeded, by index.
   */
  result(node: string, fire?: number): Json | undefined
  /** Work of the instance by node, without the runs that did nothing; finals and undos do not count as work. */
  ran(): readonly Ran[] | undefined
  /** The id that a child made at this place will have, always the same. */
  childId(node: string, fire: number): string
  /** Items [from, from + count) of an each; shorter at the end of the list. */
  items(node: string, fire: number, from: number, count: number): readonly Json[] | undefined
  /** Ids of runs of this instance that have not started, at most `limit`. */
  unstarted(limit: number): readonly string[] | undefined
  /** Attached children that are not ending already. */
  openChildren(limit: number): readonly string[] | undefined
  openGates(limit: number): readonly string[] | undefined
}

export type Missing =
  | { readonly fact: 'slot'; readonly key: SlotKey }
  | { readonly fact: 'slotsWith'; readonly prefix: SlotPrefix }
  | { readonly fact: 'topSlot'; readonly prefix: SlotPrefix }
  | { readonly fact: 'result'; readonly node: string; readonly fire?: number }
  | { readonly fact: 'ran' }
  | {
      readonly fact: 'items'
      readonly node: string
      readonly fire: number
      readonly from: number
      readonly count: number
    }
  | { readonly fact: 'unstarted'; readonly limit: number }
  | { readonly fact: 'openChildren'; readonly limit: number }
  | { readonly fact: 'openGates'; readonly limit: number }

/** The evaluator, injected: net/ knows no expression language. All are synchronous, bounded, and throw on errors. */
export interface Evaluate {
  /** Free names of an expression, with the path below each where it is known. Throws if it does not parse. */
  names(source: Expr): readonly (readonly string[])[]
  /** The same for a template: any JSON whose strings may hold expressions. */
  templateNames(template: Json): readonly (readonly string[])[]
  truth(source: Expr, scope: Scope): boolean
  value(source: Expr, scope: Scope): Json
  render(template: Json, scope: Scope): Json
}

export type Scope = { readonly [name: string]: Json }
