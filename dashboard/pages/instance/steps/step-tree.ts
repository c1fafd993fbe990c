/**
 * The steps of an instance with those of the nested instances that are open, page by page. A page is read again when one of
 * its steps has changed, a few pages at a time, so that a large instance that is busy costs no more than a small one.
 */
import type { Step, StepPage } from './read.ts'

/** What it reads from the server. */
export interface StepSource {
  page(id: string, after: string | null, signal: AbortSignal): Promise<StepPage>
  /** The names of the steps that have changed, and the number of the last event. `since` null: only the number. */
  changes(
    id: string,
    since: number | null,
    signal: AbortSignal,
  ): Promise<{ readonly seq: number; readonly names: readonly string[] }>
}

interface Page extends StepPage {
  readonly after: string | null
}

export interface StepsOf {
  readonly id: string
  readonly steps: readonly Step[]
  readonly total: number
  readonly hasMore: boolean
}

/** Pages that are read again at a time. */
const MOST_READ_AGAIN = 4

class Steps {
  readonly id: string
  readonly #source: StepSource
  readonly #pages: Page[] = []
  readonly #stale = new Set<Page>()
  #seq: number | null = null
  #wanted = 1

  constructor(id: string, source: StepSource) {
    this.id = id
    this.#source = source
  }

  more(): void {
    this.#wanted = this.#pages.length + 1
  }

  async read(signal: AbortSignal): Promise<StepsOf> {
    const { seq, names } = await this.#source.changes(this.id, this.#seq, signal)
    this.#seq = seq
    const changed = new Set(names)
    for (const page of this.#pages) {
      if (page.steps.some(({ name }) => changed.has(name))) this.#stale.add(page)
    }
    for (const page of [...this.#stale].slice(0, MOST_READ_AGAIN)) {
      const again = await this.#source.page(this.id, page.after, signal)
      this.#stale.delete(page)
      this.#pages[this.#pages.indexOf(page)] = { ...again, after: page.after }
    }
    while (this.#pages.length < this.#wanted) {
      const last = this.#pages.at(-1)
      if (last !== undefined && last.next === null) break
      const after = last?.next ?? null
      this.#pages.push({ ...(await this.#source.page(this.id, after, signal)), after })
    }
    return {
      id: this.id,
      steps: this.#pages.flatMap(({ steps }) => steps),
      total: this.#pages[0]?.total ?? 0,
      hasMore: this.#pages.at(-1)?.next != null,
    }
  }
}

export type Forest = ReadonlyMap<string, StepsOf>

export class StepTree {
  readonly #source: StepSource
  readonly #root: Steps
  readonly #nested = new Map<string, Steps>()

  constructor(id: string, source: StepSource) {
    this.#source = source
    this.#root = new Steps(id, source)
  }

  /** Of an instance that is read: its next page. */
  more(id: string): void {
    const steps = id === this.#root.id ? this.#root : this.#nested.get(id)
    steps?.more()
  }

  toggle(id: string): void {
    if (!this.#nested.delete(id)) this.#nested.set(id, new Steps(id, this.#source))
  }

  has(id: string): boolean {
    return id === this.#root.id || this.#nested.has(id)
  }

  async read(signal: AbortSignal): Promise<Forest> {
    const all = [this.#root, ...this.#nested.values()]
    const read = await Promise.all(all.map((steps) => steps.read(signal)))
    return new Map(read.map((steps) => [steps.id, steps]))
  }
}

export type TreeRow =
  | {
      readonly kind: 'step'
      readonly key: string
      readonly depth: number
      readonly instance: string
      readonly step: Step
      /** null: it has nothing nested. */
      readonly isOpen: boolean | null
    }
  /** Further steps of an open nested instance. */
  | {
      readonly kind: 'more'
      readonly key: string
      readonly depth: number
      readonly instance: string
      readonly left: number
    }

export interface StepFilter {
  readonly text: string
  /** '': any. unfinished: neither completed nor skipped. */
  readonly state: string
}

export function isFiltered({ text, state }: StepFilter): boolean {
  return text.trim() !== '' || state !== ''
}

const DEEPEST = 20

/** The rows as they are shown: the steps of the root, each followed by those of its nested instance if that is open. */
export function rowsOf(forest: Forest, root: string, filter: StepFilter): readonly TreeRow[] {
  const rows: TreeRow[] = []
  const add = (id: string, depth: number): void => {
    const of = forest.get(id)
    if (of === undefined || depth > DEEPEST) return
    for (const step of of.steps) {
      if (!passes(step, filter)) continue
      const child = step.child_id
      const isOpen = child === null ? null : forest.has(child)
      rows.push({ kind: 'step', key: `${id} ${step.name}`, depth, instance: id, step, isOpen })
      if (child !== null && isOpen === true) add(child, depth + 1)
    }
    if (of.hasMore && id !== root) {
      rows.push({ kind: 'more', key: `${id} more`, depth, instance: id, left: of.total - of.steps.length })
    }
  }
  add(root, 0)
  return rows
}

function passes({ name, type, state }: Step, filter: StepFilter): boolean {
  const wanted = filter.text.trim().toLowerCase()
  const hasText = wanted === '' || name.toLowerCase().includes(wanted) || (type ?? '').toLowerCase().includes(wanted)
  if (!hasText || filter.state === '') return hasText
  return filter.state === 'unfinished' ? state !== 'completed' && state !== 'skipped' : state === filter.state
}
