/**
 * The net: shape and policy of a workflow, no data. Every notation compiles to one of these; it is stored
 * compiled, shared by hash, and frozen for the instances that use it. docs/net.md describes its behaviour.
 */

import type { Retry } from './retry/retry.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** An expression or template in source form; compiled and evaluated by the injected evaluator, never here. */
export type Expr = string

export interface Net {
  readonly version: 1
  readonly name: string
  /** The name of the author's notation: ojs, dag, playbook, saga. Carried for projections, never read by fire. */
  readonly dialect: string
  /** The notation's name for this shape, if it has several: chain, group, batch. Carried like `dialect`. */
  readonly kind?: string
  readonly nodes: readonly Node[]
  /** Keys of the nodes that get a token at the start. */
  readonly entry: readonly string[]
  readonly finals: readonly Final[]
  /** Answer to a failure whose node has `net`, and to an instance deadline. retry: again from the start, then abort. */
  readonly onFailure: 'abort' | 'compensate' | 'retry'
  readonly verdict: Verdict
  /** For work whose outcome is unknown: treat it as failed, stop without undo, or undo it as if it had happened. */
  readonly unknown: 'ignore' | 'stop' | 'undo'
  /** From queued on, including time spent waiting. null: none. */
  readonly timeoutMs: number | null
  /** Budget of the undo phase. null: none. */
  readonly undoTimeoutMs: number | null
  /** An instance with only held tokens: stays `waiting`, or completes and discards them. */
  readonly held: 'wait' | 'complete'
  /** A finished branch whose arcs all refused: ends quietly, or fails the instance. */
  readonly noMatch: 'end' | 'fail'
  // The fields below are left out where a net does not use them, so that nets without them keep the hash they have.
  /** Defaults of the input: the input of an instance is merged over them, maps key by key; any other value replaces. */
  readonly input?: Json
  /**
   * Arguments whose JSON is longer are stored in slot `x:<n>` and passed on as `{ "$ref": "x:<n>" }`. Left out: never.
   */
  readonly inlineBytes?: number
  /** Failures and ended branches are noted, and finals receive a summary of the instance as their args. */
  readonly summary?: true
  /** Admissions, routings and lists are recorded as events. */
  readonly tells?: true
}

export interface Verdict {
  /**
   * Which failures fail the instance: unhandled ones, any, or only those of the finals. first: the first unhandled
   * failure drains it at once.
   */
  readonly failedOn: 'unhandled' | 'any' | 'finals' | 'first'
  /** true: an instance that would fail ends `completed` with outcome `partial` if some work succeeded. */
  readonly partial: boolean
}

export interface Final {
  readonly node: string
  readonly when: 'always' | 'success' | 'failure'
  readonly onFailure: 'fail' | 'partial'
}

export interface Node {
  readonly key: string
  readonly work: Work
  readonly join: 'each' | 'count' | 'scope'
  readonly admit: Admission | null
  readonly retry: Retry | null
  readonly timeout: Timeout | null
  readonly onFailure: 'net' | 'abort' | 'skip' | 'compensate' | 'route'
  readonly undo: Undo | null
  readonly next: Next
  /**
   * The approval to ask for when governance forbids the work of a run: approved, the same run becomes active again;
   * rejected, it has failed. Left out: no approval. (Left out, not null, so that nets without it keep the hash they
   * have.)
   */
  readonly appeal?: GateWork
  /** Left out: not validated. */
  readonly schema?: NodeSchema
  /** Context entries rendered when the node has succeeded (a list: when it has closed), before its arcs are tried. */
  readonly set?: { readonly [name: string]: Json }
  /** Overrides the net's policy for work of this node whose outcome is unknown. Left out: the net's. */
  readonly unknown?: Net['unknown']
}

/** JSON Schemas that a node's runs are validated against; not its undo. Opaque to the net. */
export interface NodeSchema {
  /** `path` leads to the value inside the arguments; [] is all of them. A missing value counts as null. */
  readonly input: { readonly path: readonly string[]; readonly schema: Json } | null
  readonly output: Json | null
}

export type Work = RunWork | GateWork | PassWork | ChildWork | EachWork

export interface RunWork {
  readonly kind: 'run'
  readonly type: string
  readonly queue: string
  /** Smaller runs earlier. */
  readonly priority: number
  readonly delayMs: number
  /** Template rendered when the run is created; null: the literal arguments stored with the instance or item. */
  readonly args: Json | null
  /** Concurrency or rate limit this run counts against, besides its queue's. */
  readonly limitKey: string | null
  /** The key that its runs share their queue under. */
  readonly fairKey?: string
  /** What the worker is to do, where the type alone does not define it; opaque to the net. */
  readonly program?: Json
}

export interface GateWork {
  readonly kind: 'gate'
  /** Opaque to the net: form, roles, quorum. */
  readonly options: Json
  readonly timeoutMs: number | null
  /** Decision taken when no answer came in time. */
  readonly onTimeout: 'approve' | 'reject'
}

/** Routes at once, does nothing. */
export interface PassWork {
  readonly kind: 'pass'
}

export interface ChildWork {
  readonly kind: 'child'
  /** Hash of the child's net. */
  readonly net: string
  /** attached: the token waits for the child's verdict. detached: it continues at once and the child is independent. */
  readonly mode: 'attached' | 'detached'
  readonly input: Json | null
  /** Attached: the result of this node of the child is merged over its results by node. Left out: those alone. */
  readonly returns?: string
}

export interface EachWork {
  readonly kind: 'each'
  /** Expression giving the list; null: the literal items stored at the start. */
  readonly items: Expr | null
  /** Work of every item; null: each item names its own (`{ run } | { child }`). */
  readonly body: RunWork | ChildWork | null
  /** null: all at once (eager). A number: that many open at a time (cursor). An expression: evaluated when it opens. */
  readonly maxInFlight: number | Expr | null
  /** true: the first failed item stops the issue of further ones. */
  readonly failFast: boolean
  /** The name of an item in the templates of the body, besides `item`. */
  readonly as?: string
  /** Its result is `{ results: [by index, null where it failed], stats: { total, success, failed } }`. */
  readonly collect?: 'list'
  /** Items may fail: the node succeeds regardless. */
  readonly tolerant?: true
  /**
   * Template rendered once when it opens and stored in slot `x:<fire>`; the items receive `{ "$shared": "x:<fire>" }`
   * with their own.
   */
  readonly shared?: Json
}

export interface Admission {
  /** The first rule whose guard holds decides; a rule without `when` always holds; if none holds, deny. */
  readonly rules: readonly { readonly when: Expr | null; readonly allow: boolean }[]
  readonly onDeny: 'hold' | 'discard'
}

export interface Timeout {
  readonly ms: number
  /** attempt: each start has its own timeout. node: one timeout from the first start over all attempts. */
  readonly per: 'attempt' | 'node'
}

export interface Undo {
  readonly work: RunWork
  /**
   * Where in the rendered arguments the arguments of the undone work are inserted, exactly as its run has them:
   * rendering them again could give something else, for a retried instance may have another input. Left out: nowhere.
   */
  readonly given?: readonly [string, ...string[]]
  readonly retry: Retry | null
  readonly timeout: Timeout | null
}

export interface Next {
  readonly mode: 'first' | 'every'
  readonly arcs: readonly Arc[]
  /**
   * The join: the node to continue at when all tokens this fork makes have ended; null: no scope is opened. Several,
   * the outermost first: one scope inside the other, for branches that meet at different joins.
   */
  readonly scope: string | readonly string[] | null
}

export interface Arc {
  readonly to: string
  readonly when: Expr | null
  /** Bound into the token, immutable for that firing. */
  readonly args: { readonly [name: string]: Json } | null
  /** Context entries written when the arc is taken. */
  readonly set: { readonly [name: string]: Json } | null
}
