/**
 * A list that is read page by page. Its first page is kept up to date: rows change in place at once; while `hold` is true,
 * as under the pointer, new rows wait (`fresh`) and none moves. Rows further down are read again while they are in view. A page that ends early is followed by the next ones by
 * itself, a few times; then `halted` asks the user.
 */
import { type ReadonlySignal, signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { LiveData, type LiveOptions } from './live.ts'
import { followedBy, inPlace, newIn, type Page, withHead } from './page.ts'

export type { Page } from './page.ts'

export interface PagedOptions<Row> extends LiveOptions {
  readonly load: (before: string | null, signal: AbortSignal) => Promise<Page<Row>>
  readonly idOf: (row: Row) => string
  readonly hold: ReadonlySignal<boolean>
}

/** Pages that are read by themselves, until there are so many more rows. */
const MOST_EARLY_ENDS = 5
const ENOUGH_ROWS = 20

export class PagedList<Row> {
  /** null: not read yet. */
  readonly list = signal<Page<Row> | null>(null)
  /** New rows that wait. */
  readonly fresh = signal(0)
  readonly busy = signal(false)
  /** Several pages ended early: `more` continues. */
  readonly halted = signal(false)
  /** Why the last further page could not be read. */
  readonly failure = signal<Error | null>(null)
  readonly #head: LiveData<Page<Row>>
  readonly #options: PagedOptions<Row>
  readonly #stop: (() => void)[] = []
  #waiting: Page<Row> | null = null
  readonly #controllers = new Set<AbortController>()
  #visible = 0
  #rereading = false

  constructor(options: PagedOptions<Row>) {
    const { hold: _, ...live } = options
    this.#options = options
    this.#head = new LiveData((signal) => options.load(null, signal), live)
  }

  /** Why the first page could not be read. */
  get error(): ReadonlySignal<Error | null> {
    return this.#head.error
  }

  open(): void {
    this.#stop.push(this.#head.data.subscribe((head) => head !== null && this.#take(head)))
    this.#stop.push(this.#options.hold.subscribe((held) => !held && this.show()))
    this.#head.open()
  }

  close(): void {
    for (const stop of this.#stop) stop()
    this.#stop.length = 0
    this.#head.close()
    for (const controller of this.#controllers) controller.abort()
  }

  refresh(): Promise<void> {
    return this.#head.refresh()
  }

  /** Shows what waits. */
  show(): void {
    const { value: list } = this.list
    if (this.#waiting !== null && list !== null) this.list.value = withHead(list, this.#waiting, this.#options.idOf)
    this.#waiting = null
    this.fresh.value = 0
  }

  async more(): Promise<void> {
    if (this.busy.value || this.list.value?.next == null) return
    const controller = this.#controller()
    this.busy.value = true
    this.halted.value = false
    this.failure.value = null
    try {
      await this.#read(controller.signal)
    } catch (error) {
      if (!controller.signal.aborted) this.failure.value = error as Error
    } finally {
      this.busy.value = false
      this.#controllers.delete(controller)
    }
  }

  /** Called at the end of the list: does not continue by itself what the user was asked about. */
  end(): void {
    if (!this.halted.value && this.failure.value === null) void this.more()
  }

  /** The first row that is in view. */
  visible(first: number): void {
    this.#visible = first
  }

  #controller(): AbortController {
    const controller = new AbortController()
    this.#controllers.add(controller)
    return controller
  }

  /** The rows in view, if they are below the first page. */
  async #reread(headRows: number): Promise<void> {
    const rows = this.list.value?.rows ?? []
    const before = this.#visible > headRows ? rows[this.#visible - 1] : undefined
    if (before === undefined || this.#rereading) return
    const { load, idOf } = this.#options
    const controller = this.#controller()
    this.#rereading = true
    try {
      const page = await load(idOf(before), controller.signal)
      const { value: list } = this.list
      if (!controller.signal.aborted && list !== null) this.list.value = inPlace(list, page, idOf)
    } catch {
      // They stay as they are; the first page reports an outage.
    } finally {
      this.#rereading = false
      this.#controllers.delete(controller)
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const before = this.list.value?.rows.length ?? 0
    for (let pages = 0; pages < MOST_EARLY_ENDS; pages++) {
      const cursor = this.list.value?.next ?? null
      if (cursor === null) return
      const page = await this.#options.load(cursor, signal)
      const { value: list } = this.list
      // The list began again meanwhile.
      if (signal.aborted || list === null || list.next !== cursor) return
      this.list.value = followedBy(list, page)
      if (page.complete || this.list.value.rows.length - before >= ENOUGH_ROWS) return
    }
    this.halted.value = true
  }

  #take(head: Page<Row>): void {
    const { idOf, hold } = this.#options
    const { value: list } = this.list
    if (list === null) {
      this.list.value = head
      if (!head.complete && head.rows.length < ENOUGH_ROWS) void this.more()
    } else if (hold.value) {
      this.list.value = inPlace(list, head, idOf)
      this.#waiting = head
      this.fresh.value = newIn(list, head, idOf)
    } else {
      this.list.value = withHead(list, head, idOf)
    }
    void this.#reread(head.rows.length)
  }
}

/** `key` names what is listed: another key begins again. */
export function usePaged<Row>(key: string, options: PagedOptions<Row>): PagedList<Row> {
  const current = useRef<{ readonly key: string; readonly list: PagedList<Row> } | null>(null)
  if (current.current?.key !== key) current.current = { key, list: new PagedList(options) }
  const { list } = current.current
  useEffect(() => {
    list.open()
    return () => list.close()
  }, [list])
  return list
}

/** Of the list with this key, or of the one before until this one has been read: nothing flashes while the user types. */
export function useLastList<Row>({ list }: PagedList<Row>): {
  readonly page: Page<Row> | null
  readonly stale: boolean
} {
  const last = useRef<Page<Row> | null>(null)
  const { value } = list
  if (value !== null) last.current = value
  return { page: last.current, stale: value === null }
}
