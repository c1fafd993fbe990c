/** A retry or fork as it is asked for, and what it would do. */
import type { EarlierPlace } from '../../net/going-back.ts'
import type { Json } from '../../net/net.ts'
import type { InstanceRow } from '../rows.ts'

/** A step of an ended instance, as a person names it. */
export interface StepChoice {
  readonly step: string
  /** 1: the first time that the step began. Left out: the last. */
  readonly firing?: number
  /** Of a list, from 0. Left out: all of its items. */
  readonly item?: number
}

/** At most one of them. `args` replaces all arguments; `patch` is merged into those of before (RFC 7396). */
export interface Edit {
  readonly args?: Json
  readonly patch?: Json
}

export interface RepeatAsked extends Edit {
  readonly id: string
  /** A copy that leaves the earlier instance its work; of a completed instance, too. */
  readonly fork?: boolean
  readonly from?: StepChoice
  readonly input?: Json
}

/** Why work is done again. */
export const AGAIN_WHY = {
  chosen: 'it was named',
  contains_chosen: 'the step that was named is inside of it; only that and what follows is done again',
  follows: 'it follows from what was named',
  beginning: 'the fork begins at the beginning',
  unfinished: 'it did not succeed',
  in_doubt: 'it did not succeed, and may have taken effect',
  undone: 'a rollback has undone it',
  asked_again: 'people are asked again',
} as const

export type AgainWhy = keyof typeof AGAIN_WHY

export interface PreviewCarried {
  readonly instanceId: string
  readonly step: string
  readonly kind: 'run' | 'child' | 'gate'
  readonly count: number
  /** There is more: no more than this is counted for a step. */
  readonly atLeast: boolean
}

export interface PreviewAgain extends PreviewCarried {
  readonly why: AgainWhy
}

/** A page of steps. */
export interface Preview {
  readonly old: InstanceRow
  /** null: no step was named. */
  readonly from: (EarlierPlace & { readonly instanceId: string }) | null
  readonly again: readonly PreviewAgain[]
  readonly carried: readonly PreviewCarried[]
  /** `after` of the next page; null: this is the last. */
  readonly next: string | null
}
