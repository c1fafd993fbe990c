/**
 * A query for instances or for runs: conditions that must all hold. Its text is `state:failed name:order* -tag:test age:>1h`:
 * filters separated by spaces, each `FIELD:VALUE`; a comma means or, a leading `-` means not. parse.ts reads it, print.ts
 * writes it. docs/operate/search.md lists the fields.
 */

/** One of the texts that a condition accepts. */
export interface Match {
  readonly text: string
  /** true: every text that begins with it. */
  readonly prefix: boolean
}

export type Comparison = '>' | '>=' | '<' | '<='

/** A column is one of these texts. */
export interface TextCondition<F extends string = string> {
  readonly kind: 'text'
  readonly field: F
  readonly not: boolean
  readonly values: readonly Match[]
}

/** It has one of these entries in the table of terms (terms.ts). `field`: `tag`, `meta.region` … */
export interface TermCondition {
  readonly kind: 'term'
  readonly field: string
  readonly not: boolean
  readonly values: readonly string[]
}

/** A span of time is longer or shorter than this. */
export interface SpanCondition<F extends string = string> {
  readonly kind: 'span'
  readonly field: F
  readonly not: boolean
  readonly comparison: Comparison
  readonly ms: number
}

/** A column is a time before or after this one. */
export interface MomentCondition<F extends string = string> {
  readonly kind: 'moment'
  readonly field: F
  readonly not: boolean
  readonly comparison: Comparison
  /** Milliseconds since 1970. */
  readonly at: number
}

/** A column is a number in this range. */
export interface NumberCondition<F extends string = string> {
  readonly kind: 'number'
  readonly field: F
  readonly not: boolean
  readonly comparison: Comparison | '='
  readonly number: number
}

/** Something is the case, or is not. `-dead:true` is read as `dead:false`. */
export interface FlagCondition<F extends string = string> {
  readonly kind: 'flag'
  readonly field: F
  readonly value: boolean
}

export type InstanceText = 'state' | 'name' | 'notation' | 'outcome' | 'key' | 'original' | 'has' | 'nested'
export type InstanceSpan = 'age' | 'took' | 'ended'
export type RunText = 'status' | 'type' | 'queue' | 'node' | 'role' | 'worker' | 'key' | 'instance'
export type RunSpan = 'age' | 'took' | 'ended'
export type RunFlag = 'dead' | 'inbox' | 'deferred'

export type InstanceCondition =
  | TextCondition<InstanceText>
  | TermCondition
  | MomentCondition<'created'>
  | SpanCondition<InstanceSpan>

export type RunCondition =
  | TextCondition<RunText>
  | TermCondition
  | SpanCondition<RunSpan>
  | NumberCondition<'attempt'>
  | FlagCondition<RunFlag>

export type Condition = InstanceCondition | RunCondition

/** Without a condition on `nested` it finds roots only. */
export interface InstanceSearch {
  readonly of: 'instances'
  readonly conditions: readonly InstanceCondition[]
}

/** It finds no deleted runs. */
export interface RunSearch {
  readonly of: 'runs'
  readonly conditions: readonly RunCondition[]
}

export type Search = InstanceSearch | RunSearch

/** Whether it has no condition, so that it finds everything (of a tenant). */
export function matchesEverything({ conditions }: Search): boolean {
  return conditions.length === 0
}
