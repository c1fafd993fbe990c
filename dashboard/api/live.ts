/**
 * Data of a page that is kept up to date: read when the page opens, and again when the server reports a change that
 * concerns it, at most once per `atMostEveryMs`, or by the clock where there is no stream. The last data stay visible
 * while the server cannot be reached. While the pointer is over a held region, new data wait (`waiting`), so that
 * nothing moves under the pointer.
 */
import { type ReadonlySignal, signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { type Changes, liveness, onChanges } from './changes.ts'
import { AnswerError } from './client.ts'

export interface LiveOptions {
  /** Whether a change concerns this data. Default: every change. */
  readonly concerns?: (changes: Changes) => boolean
  readonly atMostEveryMs?: number
  /** Read again by the clock, stream or not: for what changes with time alone. null: never. */
  readonly everyMs?: number | null
  /** While this is true, new data wait. */
  readonly hold?: ReadonlySignal<boolean>
}

export interface Live<T> {
  readonly data: ReadonlySignal<T | null>
  readonly error: ReadonlySignal<Error | null>
  readonly loading: ReadonlySignal<boolean>
  /** New data are there, and are shown when the pointer leaves, or by `show`. */
  readonly waiting: ReadonlySignal<boolean>
  readonly show: () => void
  readonly refresh: () => Promise<void>
}

const POLL_MS = 3_000
const AT_MOST_EVERY_MS = 1_000

export class LiveData<T> implements Live<T> {
  readonly data = signal<T | null>(null)
  readonly error = signal<Error | null>(null)
  readonly loading = signal(true)
  readonly waiting = signal(false)
  readonly #load: (signal: AbortSignal) => Promise<T>
  readonly #options: LiveOptions
  readonly #stop: (() => void)[] = []
  #next: T | null = null
  #controller: AbortController | null = null
  #timer: ReturnType<typeof setTimeout> | null = null
  #readAt = 0
  #again = false

  constructor(load: (signal: AbortSignal) => Promise<T>, options: LiveOptions) {
    this.#load = load
    this.#options = options
    // Pages take them apart: `const { data, refresh } = useLive(…)`.
    this.refresh = this.refresh.bind(this)
    this.show = this.show.bind(this)
  }

  open(): void {
    const { concerns = () => true, everyMs = null, hold } = this.#options
    this.#stop.push(onChanges((changes) => (changes.areas.has('*') || concerns(changes)) && this.#soon()))
    const clock = setInterval(
      () => {
        if (document.hidden || liveness.value === 'paused') return
        const since = performance.now() - this.#readAt
        if (liveness.value === 'polling' || (everyMs !== null && since >= everyMs)) this.#soon()
      },
      Math.min(everyMs ?? POLL_MS, POLL_MS),
    )
    this.#stop.push(() => clearInterval(clock))
    if (hold !== undefined) this.#stop.push(hold.subscribe((held) => !held && this.show()))
    void this.refresh()
  }

  close(): void {
    for (const stop of this.#stop) stop()
    this.#stop.length = 0
    this.#controller?.abort()
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  /** These two may be passed on by themselves. */
  readonly show = (): void => {
    if (this.#next !== null) this.data.value = this.#next
    this.#next = null
    this.waiting.value = false
  }

  readonly refresh = async (): Promise<void> => {
    if (this.#controller !== null) {
      this.#again = true
      return
    }
    const controller = new AbortController()
    this.#controller = controller
    this.#readAt = performance.now()
    try {
      const data = await this.#load(controller.signal)
      if (controller.signal.aborted) return
      this.error.value = null
      if (this.data.value !== null && this.#options.hold?.value === true) {
        this.#next = data
        this.waiting.value = true
      } else {
        this.data.value = data
      }
    } catch (error) {
      if (controller.signal.aborted) return
      // An outage is the banner's matter; what the server refuses is the page's.
      if (error instanceof AnswerError || this.data.value === null) this.error.value = error as Error
    } finally {
      this.loading.value = false
      this.#controller = null
      if (this.#again) {
        this.#again = false
        this.#soon()
      }
    }
  }

  #soon(): void {
    if (this.#timer !== null) return
    const since = performance.now() - this.#readAt
    const wait = Math.max(0, (this.#options.atMostEveryMs ?? AT_MOST_EVERY_MS) - since)
    this.#timer = setTimeout(() => {
      this.#timer = null
      void this.refresh()
    }, wait)
  }
}

/** `key` names what is loaded: another key begins again. */
export function useLive<T>(key: string, load: (signal: AbortSignal) => Promise<T>, options: LiveOptions = {}): Live<T> {
  const current = useRef<{ readonly key: string; readonly live: LiveData<T> } | null>(null)
  if (current.current?.key !== key) {
    current.current?.live.close()
    current.current = { key, live: new LiveData(load, options) }
  }
  const { live } = current.current
  useEffect(() => {
    live.open()
    return () => live.close()
  }, [live])
  return live
}
