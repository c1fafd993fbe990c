/** A scene with its controls: search, zoom, filters, and the selected part. The keyboard does all that the pointer does. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useMemo, useRef } from 'preact/hooks'
import { State } from '../ui/state.tsx'
import type { Face } from './canvas/picture.ts'
import { Stage } from './canvas/stage.ts'
import { neighbour } from './model/move.ts'
import type { Scene } from './model/scene.ts'
import { traceOf } from './model/trace.ts'

export interface GraphViewProps {
  /** Of a screen reader: what is drawn. */
  readonly label: string
  readonly scene: Scene
  readonly faces: readonly Face[]
  readonly selected: number | null
  readonly onSelect: (part: number | null) => void
  readonly onOpen?: (part: number) => void
  /** Whether there is an instance, whose parts have states. */
  readonly hasStates: boolean
  readonly panel?: ComponentChildren
}

export function GraphView(props: GraphViewProps) {
  const { label, scene, faces, selected, onSelect, hasStates, panel } = props
  const view = useStage(props)
  const { stage, canvas, map, focus, search, trace, hidden, follow } = view
  const help = useId()
  const found = useFound(scene, search.value)
  const path = useMemo(
    () => (trace.value ? traceOf(scene, (i) => tracedOf(faces[i])) : null),
    [scene, faces, trace.value],
  )
  useEffect(() => {
    stage.current?.show({ faces, selected, found, trace: path, hideSucceeded: hidden.value })
  }, [scene, faces, selected, found, path, hidden.value])
  useFollow(stage, scene, faces, follow.value)
  const go = (parts: readonly number[]): void => {
    const [next] = parts.filter((part) => selected === null || part > selected)
    const part = next ?? parts[0]
    if (part === undefined) return
    onSelect(part)
    stage.current?.reveal([part])
  }
  return (
    <div class="graph">
      <div class="graph-bar row">
        <Search search={search} found={found} onGo={go} />
        {hasStates && <Counts scene={scene} faces={faces} onGo={go} />}
        <span class="grow" />
        <Controls view={view} hasStates={hasStates} hasFailed={faces.some(({ state }) => state === 'failed')} />
      </div>
      <div class="graph-body">
        <div
          class="graph-stage"
          role="application"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the keys of the picture are those of this element
          tabIndex={0}
          aria-label={`Graph of ${label}: ${scene.parts.length} parts. The Steps tab has the same as a table.`}
          aria-describedby={help}
          onKeyDown={(event) => onKey(event, props, view)}
        >
          <canvas ref={canvas} class="graph-canvas" />
          <button ref={focus} type="button" class="graph-focus" hidden tabIndex={selected === null ? -1 : 0}>
            <span class="visually-hidden">{selected === null ? '' : spoken(scene, faces, selected)}</span>
          </button>
          <canvas ref={map} class="graph-map" hidden />
          <Zoom stage={stage} />
          <span class="visually-hidden" role="status">
            {selected === null ? '' : spoken(scene, faces, selected)}
          </span>
        </div>
        {panel}
      </div>
      <p id={help} class="graph-keys dim">
        <kbd>↑</kbd> <kbd>↓</kbd> along the arrows, <kbd>←</kbd> <kbd>→</kbd> to the neighbour, <kbd>Shift</kbd> with
        them moves the picture, <kbd>+</kbd> <kbd>−</kbd> <kbd>0</kbd> zoom, <kbd>Enter</kbd> opens a nested workflow,{' '}
        <kbd>Esc</kbd> clears the selection.
      </p>
    </div>
  )
}

type View = ReturnType<typeof useStage>

interface SearchProps {
  readonly search: View['search']
  readonly found: ReadonlySet<number> | null
  readonly onGo: (parts: readonly number[]) => void
}

function Search({ search, found, onGo }: SearchProps) {
  return (
    <>
      <input
        type="search"
        data-search
        placeholder="Find a step …"
        aria-label="Find a step in the graph; Enter goes to the next one"
        value={search.value}
        onInput={(event) => {
          search.value = event.currentTarget.value
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && found !== null) onGo([...found])
        }}
      />
      <span class="dim" role="status">
        {found === null ? '' : `${found.size} found`}
      </span>
    </>
  )
}

function useStage({ scene, onSelect, onOpen, faces }: GraphViewProps) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const map = useRef<HTMLCanvasElement>(null)
  const focus = useRef<HTMLButtonElement>(null)
  const stage = useRef<Stage | null>(null)
  const search = useSignal('')
  const trace = useSignal(true)
  const hidden = useSignal(false)
  const follow = useSignal(false)
  const now = useRef({ scene, faces, onSelect, onOpen })
  now.current = { scene, faces, onSelect, onOpen }
  useEffect(() => {
    if (canvas.current === null || map.current === null || focus.current === null) return
    const elements = { canvas: canvas.current, map: map.current, focus: focus.current }
    const made = new Stage(elements, {
      onSelect: (part) => now.current.onSelect(part),
      onOpen: (part) => now.current.onOpen?.(part),
      onMove: () => {
        follow.value = false
      },
      titleOf: (part) => spoken(now.current.scene, now.current.faces, part),
    })
    stage.current = made
    made.setScene(now.current.scene)
    return () => made.close()
  }, [])
  useEffect(() => {
    stage.current?.setScene(scene)
  }, [scene])
  return { stage, canvas, map, focus, search, trace, hidden, follow }
}

function useFound(scene: Scene, search: string): ReadonlySet<number> | null {
  return useMemo(() => {
    const text = search.trim().toLowerCase()
    if (text === '') return null
    const matches = ({ label, detail }: Scene['parts'][number]): boolean =>
      label.toLowerCase().includes(text) || detail.toLowerCase().includes(text)
    return new Set(scene.parts.flatMap((part, i) => (matches(part) ? [i] : [])))
  }, [scene, search])
}

/** Keeps what runs in view. */
function useFollow(stage: View['stage'], scene: Scene, faces: readonly Face[], follow: boolean): void {
  useEffect(() => {
    if (!follow) return
    const running = faces.flatMap(({ state }, i) => (state === 'running' ? [i] : []))
    const since = (i: number): number => faces[i]?.mark?.startedAt ?? 0
    stage.current?.reveal(running.sort((a, b) => since(b) - since(a)).slice(0, 20))
  }, [scene, faces, follow])
}

function tracedOf(face: Face | undefined) {
  return face === undefined ? undefined : { state: face.state, startedAt: face.mark?.startedAt ?? null }
}

/** For screen readers, and on pointing. */
function spoken(scene: Scene, faces: readonly Face[], i: number): string {
  const part = scene.parts[i]
  if (part === undefined) return ''
  const face = faces[i]
  const attempts = face?.mark?.attempts ?? 0
  const facts = [
    part.label.slice(0, 200),
    ...(face === undefined || face.state === '' ? [] : [face.state]),
    ...(attempts > 1 ? [`attempt ${attempts}`] : []),
    ...(face?.held ? [face.held] : []),
    ...(part.change === null ? [] : [part.change]),
    ...(part.detail === '' ? [] : [part.detail]),
    ...part.tags,
  ]
  return facts.join(', ')
}

const COUNTED = ['failed', 'running', 'waiting', 'pending', 'completed', 'skipped'] as const

/** How many steps are in each state; a click goes to the next of them. */
function Counts({ scene, faces, onGo }: Pick<GraphViewProps, 'scene' | 'faces'> & { onGo: (parts: number[]) => void }) {
  const byState = useMemo(() => {
    const found = new Map<string, number[]>()
    for (const [i, { state }] of faces.entries()) {
      const shape = scene.parts[i]?.shape
      if (shape === 'join' || shape === 'undo') continue
      const known = found.get(state)
      if (known === undefined) found.set(state, [i])
      else known.push(i)
    }
    return found
  }, [scene, faces])
  return (
    <span class="row graph-counts">
      {COUNTED.map((state) => {
        const parts = byState.get(state)
        if (parts === undefined) return null
        return (
          <button key={state} type="button" class="plain small" title="Go to the next one" onClick={() => onGo(parts)}>
            <State state={state} label={`${parts.length} ${state}`} />
          </button>
        )
      })}
    </span>
  )
}

function Controls({ view, hasStates, hasFailed }: { view: View; hasStates: boolean; hasFailed: boolean }) {
  const { trace, hidden, follow } = view
  return (
    <>
      {hasStates && hasFailed && <Toggle on={trace} label="Path to the failure" />}
      {hasStates && <Toggle on={hidden} label="Hide succeeded" />}
      {hasStates && <Toggle on={follow} label="Follow" />}
    </>
  )
}

function Zoom({ stage }: Pick<View, 'stage'>) {
  return (
    <span class="graph-zoom">
      <button type="button" class="small" aria-label="Zoom out" onClick={() => stage.current?.zoom(1 / 1.4)}>
        −
      </button>
      <button type="button" class="small" onClick={() => stage.current?.fit()}>
        Fit
      </button>
      <button type="button" class="small" aria-label="Zoom in" onClick={() => stage.current?.zoom(1.4)}>
        +
      </button>
    </span>
  )
}

function Toggle({ on, label }: { readonly on: { value: boolean }; readonly label: string }) {
  return (
    <button
      type="button"
      class="small toggle"
      aria-pressed={on.value}
      onClick={() => {
        on.value = !on.value
      }}
    >
      <span aria-hidden="true">{on.value ? '☑' : '☐'}</span> {label}
    </button>
  )
}

const DIRECTIONS = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' } as const
const SHIFTS = { up: [0, 80], down: [0, -80], left: [80, 0], right: [-80, 0] } as const

function onKey(event: KeyboardEvent, { scene, selected, onSelect, onOpen }: GraphViewProps, { stage }: View): void {
  const direction = DIRECTIONS[event.key as keyof typeof DIRECTIONS]
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (direction !== undefined && event.shiftKey) {
    const [dx, dy] = SHIFTS[direction]
    stage.current?.pan(dx, dy)
  } else if (direction !== undefined) {
    const next = selected === null ? 0 : neighbour(scene, selected, direction)
    if (next !== null && next < scene.parts.length) {
      onSelect(next)
      stage.current?.reveal([next])
    }
  } else if (event.key === '+' || event.key === '=') stage.current?.zoom(1.4)
  else if (event.key === '-') stage.current?.zoom(1 / 1.4)
  else if (event.key === '0') stage.current?.fit()
  else if (event.key === 'Escape') onSelect(null)
  else if (event.key === 'Enter' && selected !== null) onOpen?.(selected)
  else return
  event.preventDefault()
  event.stopPropagation()
}
