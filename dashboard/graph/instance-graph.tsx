/** The graph of an instance: its net with the state of every step, kept up to date, and all about the selected one. */
import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { onReturn } from '../api/connection.ts'
import { Problem } from '../ui/problem.tsx'
import { GraphView } from './graph-view.tsx'
import { InstanceModel } from './instance-model.ts'
import type { Scene } from './model/scene.ts'
import { NodePanel } from './panel/node-panel.tsx'

export interface InstanceGraphProps {
  readonly id: string
  /** Whether the instance may still change. */
  readonly live: boolean
  /** The key of the selected node; of a part in a nested workflow, that of the node that contains it. */
  readonly selected?: string | null
  readonly onSelect?: (nodeKey: string | null) => void
}

export function InstanceGraph({ id, live, selected = null, onSelect }: InstanceGraphProps) {
  const model = useMemo(() => new InstanceModel(id, live), [id])
  const chosen = useSignal<string | null>(selected === null ? null : nameOf([selected], false))
  useEffect(() => {
    void model.open()
    const stop = onReturn(() => {
      if (model.scene.value === null) void model.open()
    })
    return () => {
      stop()
      model.close()
    }
  }, [model])
  useEffect(() => model.follow(live), [model, live])
  useEffect(() => {
    if (selected !== topOf(chosen.value)) chosen.value = selected === null ? null : nameOf([selected], false)
  }, [selected])
  const scene = model.scene.value
  if (model.error.value !== null) return <Problem error={model.error.value} />
  if (scene === null) return <p class="dim">Drawing …</p>
  const faces = model.faces.value
  const at = indexOf(scene, chosen.value)
  const select = (part: number | null): void => {
    const before = topOf(chosen.value)
    chosen.value = part === null ? null : nameAt(scene, part)
    const after = topOf(chosen.value)
    if (after !== before) onSelect?.(after)
  }
  const source = at === null ? undefined : model.sourceOf(at)
  const face = at === null ? undefined : faces[at]
  return (
    <GraphView
      label={model.instance.value?.name ?? 'the instance'}
      scene={scene}
      faces={faces}
      selected={at}
      onSelect={select}
      onOpen={(part) => {
        if (scene.parts[part]?.shape === 'child') void model.toggle(part)
      }}
      hasStates
      panel={
        at !== null &&
        source !== undefined &&
        face !== undefined && (
          <NodePanel
            key={chosen.value}
            source={source}
            part={scene.parts[at] as Scene['parts'][number]}
            face={face}
            path={scene.path[at] as readonly string[]}
            isOpen={model.isOpen(at)}
            onToggle={() => model.toggle(at)}
            onClose={() => select(null)}
          />
        )
      }
    />
  )
}

/** A name of a part that outlives the scene. */
function nameOf(path: readonly string[], isUndo: boolean): string {
  return JSON.stringify([isUndo, ...path])
}

function nameAt({ path, parts }: Scene, part: number): string {
  return nameOf(path[part] ?? [], parts[part]?.shape === 'undo')
}

function topOf(name: string | null): string | null {
  return name === null ? null : (JSON.parse(name) as readonly [boolean, string])[1]
}

function indexOf(scene: Scene, name: string | null): number | null {
  if (name === null) return null
  const at = scene.parts.findIndex((_, i) => nameAt(scene, i) === name)
  return at < 0 ? null : at
}
