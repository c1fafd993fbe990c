/**
 * The marking of an instance, kept up to date: read once, and then only what has changed, at most four times a second.
 * What the marking does not have is read beside it, less often: why tokens are held, and the state of undos.
 */
import { signal } from '@preact/signals'
import { liveness, onChanges } from '../api/changes.ts'
import { api } from '../api/client.ts'
import { type Marking, merged } from './model/marking.ts'

const AT_MOST_EVERY_MS = 250
const BESIDE_EVERY_MS = 1_000
const POLL_MS = 3_000
const PAGE = 2_000
/** Steps that are read for the states of their undos. */
const MOST_UNDO_PAGES = 10

export interface Beside {
  /** Why tokens are held, by node. */
  readonly held: ReadonlyMap<string, string>
  /** States of undos, by node. */
  readonly undos: ReadonlyMap<string, string>
}

const NOTHING_BESIDE: Beside = { held: new Map(), undos: new Map() }

export class LiveMarking {
  readonly marking = signal<Marking | null>(null)
  readonly beside = signal<Beside>(NOTHING_BESIDE)
  readonly error = signal<Error | null>(null)
  readonly id: string
  readonly #hasUndo: boolean
  readonly #stop: (() => void)[] = []
  readonly #controller = new AbortController()
  #timer: ReturnType<typeof setTimeout> | null = null
  #reading = false
  #again = false
  #readAt = 0
  #besideAt = Number.NEGATIVE_INFINITY

  constructor(id: string, { hasUndo }: { readonly hasUndo: boolean }) {
    this.id = id
    this.#hasUndo = hasUndo
  }

  /** `live`: also what changes from now on. */
  open(live: boolean): void {
    void this.#read()
    this.follow(live)
  }

  follow(live: boolean): void {
    if (live === this.#stop.length > 0) return
    for (const stop of this.#stop.splice(0)) stop()
    if (!live) return
    if (this.marking.value !== null) this.#soon()
    this.#stop.push(
      onChanges(({ instances, more, areas }) => {
        if (more || instances.has(this.id) || areas.has('*')) this.#soon()
      }),
    )
    const clock = setInterval(() => {
      if (!document.hidden && liveness.value === 'polling') this.#soon()
    }, POLL_MS)
    this.#stop.push(() => clearInterval(clock))
  }

  close(): void {
    for (const stop of this.#stop) stop()
    this.#controller.abort()
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #soon(): void {
    if (this.#timer !== null) return
    const wait = Math.max(0, AT_MOST_EVERY_MS - (performance.now() - this.#readAt))
    this.#timer = setTimeout(() => {
      this.#timer = null
      void this.#read()
    }, wait)
  }

  async #read(): Promise<void> {
    if (this.#reading) {
      this.#again = true
      return
    }
    this.#reading = true
    this.#readAt = performance.now()
    try {
      const before = this.marking.value
      const marking = before === null ? await this.#whole() : await this.#changes(before)
      if (this.#controller.signal.aborted) return
      this.marking.value = marking
      this.error.value = null
      await this.#readBeside(marking)
    } catch (error) {
      if (this.#controller.signal.aborted) return
      // While the server cannot be reached, the last marking stays.
      if (this.marking.value === null) this.error.value = error as Error
    } finally {
      this.#reading = false
      if (this.#again && !this.#controller.signal.aborted) {
        this.#again = false
        this.#soon()
      }
    }
  }

  async #whole(): Promise<Marking> {
    let marking: Marking | null = null
    let from: string | null = null
    do {
      const page: Awaited<ReturnType<typeof this.page>> = await this.page(from === null ? {} : { from })
      marking = merged(marking, page, { isPage: true })
      from = page.next_from
    } while (from !== null)
    return marking
  }

  async #changes(before: Marking): Promise<Marking> {
    let marking = before
    for (;;) {
      const answer = await this.page({ after: marking.seq })
      marking = merged(marking, answer)
      if (!answer.has_more) return marking
    }
  }

  page(query: { readonly from?: string; readonly after?: number }) {
    const { signal } = this.#controller
    return api('GET /v1/instances/:id/marking', { params: { id: this.id }, query: { ...query, limit: PAGE }, signal })
  }

  async #readBeside({ instance }: Marking): Promise<void> {
    const isHeld = instance.held_tokens > 0
    const isBack = this.#hasUndo && instance.phase !== 'forward' && instance.reason !== null
    const { held, undos } = this.beside.value
    if (!isHeld && !isBack) {
      if (held.size + undos.size > 0) this.beside.value = NOTHING_BESIDE
      return
    }
    const wait = BESIDE_EVERY_MS - (performance.now() - this.#besideAt)
    if (wait > 0) {
      setTimeout(() => this.#controller.signal.aborted || this.#soon(), wait)
      return
    }
    this.#besideAt = performance.now()
    this.beside.value = {
      held: isHeld ? await this.#heldTokens() : new Map(),
      undos: isBack ? await this.#undoStates() : new Map(),
    }
  }

  async #heldTokens(): Promise<ReadonlyMap<string, string>> {
    const { signal } = this.#controller
    const { waits } = await api('GET /v1/instances/:id/why', { params: { id: this.id }, query: { limit: 100 }, signal })
    const held = new Map<string, string>()
    for (const { node, reasons } of waits) {
      const reason = reasons.find(({ kind }) => kind === 'admission')
      if (node !== null && reason !== undefined) held.set(node, reason.text)
    }
    return held
  }

  async #undoStates(): Promise<ReadonlyMap<string, string>> {
    const states = new Map<string, string>()
    let after: string | null = null
    for (let page = 0; page < MOST_UNDO_PAGES; page++) {
      const answer: Awaited<ReturnType<typeof this.steps>> = await this.steps(after)
      for (const { name, undo } of answer.steps) if (undo !== null) states.set(name, undo.state)
      after = answer.next_after
      if (after === null) break
    }
    return states
  }

  steps(after: string | null) {
    const { signal } = this.#controller
    const query = { limit: 1000, ...(after === null ? {} : { after }) }
    return api('GET /v1/instances/:id/steps', { params: { id: this.id }, query, signal })
  }
}
