/**
 * The graph of an instance, and of the nested workflows that are open in it: nets, layouts and live markings, put together
 * into one scene with the state of each part.
 */
import { computed, effect, signal } from '@preact/signals'
import type { Net } from '../../src/net/net.ts'
import { api } from '../api/client.ts'
import type { Face } from './canvas/picture.ts'
import { layoutFor } from './layout/client.ts'
import { LiveMarking } from './live-marking.ts'
import { type Drawing, drawingOf } from './model/drawing.ts'
import { type Level, layoutInputOf, type Scene, sceneOf } from './model/scene.ts'
import { readStep } from './step.ts'

/** One instance in the scene. */
export interface Source {
  readonly id: string
  readonly drawing: Drawing
  readonly live: LiveMarking
  readonly inner: Map<number, Source>
}

const NO_FACE: Face = { state: '', mark: null, held: null }

export class InstanceModel {
  readonly scene = signal<Scene | null>(null)
  readonly error = signal<Error | null>(null)
  /** Changes with every source that is added or taken away. */
  readonly #sources = signal<readonly Source[]>([])
  readonly faces = computed(() => this.#facesOf(this.scene.value))
  readonly instance = computed(() => this.#sources.value[0]?.live.marking.value?.instance ?? null)
  readonly #id: string
  #live: boolean
  #stop: (() => void) | null = null
  #closed = false

  constructor(id: string, live: boolean) {
    this.#id = id
    this.#live = live
  }

  async open(): Promise<void> {
    this.error.value = null
    this.#stop?.()
    try {
      const top = await this.#source(this.#id)
      this.#sources.value = [top]
      this.#stop = effect(() => {
        this.error.value =
          this.#sources.value.map(({ live }) => live.error.value).find((error) => error !== null) ?? null
      })
      await this.#arrange()
    } catch (error) {
      if (!this.#closed) this.error.value = error as Error
    }
  }

  close(): void {
    this.#closed = true
    this.#stop?.()
    for (const { live } of this.#sources.value) live.close()
  }

  follow(live: boolean): void {
    this.#live = live
    for (const source of this.#sources.value) source.live.follow(live)
  }

  sourceOf(part: number): Source | undefined {
    const id = this.scene.value?.instance[part]
    return this.#sources.value.find((source) => source.id === id)
  }

  isOpen(part: number): boolean {
    return this.scene.value?.frames.some((frame) => frame.part === part) === true
  }

  /** Opens the nested workflow of a part, or closes it. Returns why that is not possible. */
  async toggle(part: number): Promise<string | null> {
    const scene = this.scene.value
    const source = this.sourceOf(part)
    const key = scene?.parts[part]?.key
    if (source === undefined || key === undefined) return null
    const at = source.drawing.byKey.get(key) as number
    const open = source.inner.get(at)
    if (open !== undefined) {
      source.inner.delete(at)
      this.#forget(open)
    } else {
      const child = (await readStep(source.id, source.drawing, key))?.child_id ?? null
      if (child === null) return 'It has not begun.'
      if (this.#sources.value.some(({ id }) => id === child)) return null
      const added = await this.#source(child)
      source.inner.set(at, added)
      this.#sources.value = [...this.#sources.value, added]
    }
    await this.#arrange()
    return null
  }

  #forget(source: Source): void {
    source.live.close()
    for (const inner of source.inner.values()) this.#forget(inner)
    this.#sources.value = this.#sources.value.filter((one) => one !== source)
  }

  async #source(id: string): Promise<Source> {
    const { net } = await api('GET /v1/instances/:id/net', { params: { id } })
    const drawing = drawingOf(net as unknown as Net)
    const live = new LiveMarking(id, { hasUndo: drawing.undoOf.size > 0 })
    if (!this.#closed) live.open(this.#live)
    return { id, drawing, live, inner: new Map() }
  }

  async #arrange(): Promise<void> {
    const [top] = this.#sources.value
    if (top === undefined) return
    const level = await levelOf(top)
    if (!this.#closed) this.scene.value = sceneOf(level)
  }

  #facesOf(scene: Scene | null): readonly Face[] {
    if (scene === null) return []
    const sources = new Map(this.#sources.value.map((source) => [source.id, source.live]))
    const read = new Map(
      [...sources].map(([id, { marking, beside }]) => [id, { ...beside.value, marking: marking.value }]),
    )
    return scene.parts.map((part, i): Face => {
      const known = read.get(scene.instance[i] as string)
      if (known === undefined || known.marking === null) return NO_FACE
      if (part.shape === 'undo') return { state: known.undos.get(part.key) ?? 'pending', mark: null, held: null }
      const mark = known.marking.marks.get(part.key) ?? null
      // A decision that is awaited does not run.
      const isAwaited = part.shape === 'gate' && mark?.state === 'running'
      const state = isAwaited ? 'waiting' : (mark?.state ?? 'pending')
      return { state, mark, held: known.held.get(part.key) ?? null }
    })
  }
}

/** Nested workflows first: the size of a node depends on what is open in it. */
async function levelOf({ id, drawing, inner }: Source): Promise<Level> {
  const levels = new Map<number, Level>()
  for (const [at, source] of inner) levels.set(at, await levelOf(source))
  const layout = await layoutFor(layoutInputOf(drawing, levels))
  return { id, drawing, layout, inner: levels }
}
