/** An instance as text for a person. The printer decides how each role looks, and escapes control characters. */
import type { InstanceRow } from '../../model/rows.ts'
import type { Admission } from '../../net/net.ts'

/** `state`: a word for a state. */
export type Role = 'state' | 'strong' | 'faint' | 'wrong'
export type Text = string | { readonly text: string; readonly as: Role }
export type Line = readonly Text[]

export interface Table {
  readonly columns: readonly { readonly title: string; readonly align?: 'right' }[]
  readonly rows: readonly Line[]
}

/** Tokens that admission rules hold back, or that were left over when the instance completed. */
export interface Blocked {
  readonly step: string
  readonly tokens: number
  readonly state: 'held' | 'discarded'
  readonly rules: Admission['rules']
}

export interface Sheet {
  /** Behind the name of the instance. */
  readonly state: Line
  readonly facts: readonly Line[]
  /** null: the notation has no terms of its own for held tokens. */
  readonly blocked: readonly Blocked[] | null
  readonly failures: readonly Line[]
  readonly steps: Table
  /** A note about steps that the table leaves out; null: it has all of them. */
  readonly more: string | null
}

/** The steps that have begun, for a display that is drawn again and again. */
export interface Progress {
  /** Begun before those of the table. */
  readonly earlier: number
  readonly steps: Table
  readonly children: readonly InstanceRow[]
}
