/** Failures for good, grouped by their cause. docs/operate/errors.md describes the states. */
import type { EngineApi } from '../engine/api.ts'
import { PetrelError } from '../kernel/errors.ts'
import type { ErrorGroupRow, ErrorGroupState, GroupChange } from '../model/errors/groups.ts'

export interface ErrorGroupFilter {
  readonly tenant?: string
  readonly states?: readonly ErrorGroupState[]
  /** Part of the type, the code, the node, the message or the name of a workflow. */
  readonly text?: string
  /** Default 100. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly before?: string
}

export interface ErrorGroupsFound {
  /** The most recent failure first. */
  readonly rows: readonly ErrorGroupRow[]
  readonly next: string | null
}

interface ByWhom {
  readonly actor?: string
  readonly reason?: string
}

const PAGE = 100

export class ErrorGroups {
  readonly #engine: EngineApi

  constructor(engine: EngineApi) {
    this.#engine = engine
  }

  async list({ tenant, states, text, limit, before }: ErrorGroupFilter = {}): Promise<ErrorGroupsFound> {
    const { groupCursorText, parseGroupCursor } = await import('../model/errors/groups.ts')
    const cursor = before === undefined ? null : parseGroupCursor(before)
    if (before !== undefined && cursor === null) {
      throw new PetrelError('invalid_request', `before must be the next of a page, not '${before}'`)
    }
    const { rows, next } = await this.#engine.errorGroups.list({
      tenant: tenant ?? null,
      states: states ?? null,
      text: text ?? null,
      limit: limit ?? PAGE,
      before: cursor,
    })
    return { rows, next: next === null ? null : groupCursorText(next) }
  }

  /** null: there is none. */
  get(fingerprint: string): Promise<ErrorGroupRow | null> {
    return this.#engine.errorGroups.get({ fingerprint, tenant: null })
  }

  /** Its cause does not exist any more. A failure after this opens it again. */
  resolve(fingerprint: string, by: ByWhom = {}): Promise<ErrorGroupRow> {
    return this.#change(fingerprint, { to: 'resolved', ...given(by) })
  }

  /** Until it has recurred so many times, or for so many milliseconds. */
  ignore(
    fingerprint: string,
    {
      times,
      forMs,
      ...by
    }: ByWhom &
      ({ readonly times: number; readonly forMs?: never } | { readonly forMs: number; readonly times?: never }),
  ): Promise<ErrorGroupRow> {
    return this.#change(fingerprint, { to: 'ignored', times: times ?? null, forMs: forMs ?? null, ...given(by) })
  }

  reopen(fingerprint: string, by: ByWhom = {}): Promise<ErrorGroupRow> {
    return this.#change(fingerprint, { to: 'open', ...given(by) })
  }

  async #change(fingerprint: string, change: GroupChange): Promise<ErrorGroupRow> {
    const group = await this.#engine.errorGroups.change({ fingerprint, tenant: null, change })
    if (group !== null) return group
    throw new PetrelError('not_found', `there is no error group ${fingerprint}`, {
      kind: 'error group',
      id: fingerprint,
    })
  }
}

function given({ actor, reason }: ByWhom): Pick<GroupChange, 'actor' | 'reason'> {
  return { actor: actor ?? null, reason: reason ?? null }
}
