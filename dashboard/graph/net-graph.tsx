/** A net without an instance: a definition, or what has changed between two versions of it. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Net } from '../../src/net/net.ts'
import { Problem } from '../ui/problem.tsx'
import type { Face } from './canvas/picture.ts'
import { GraphView } from './graph-view.tsx'
import { layoutFor } from './layout/client.ts'
import { drawingOf, type Part } from './model/drawing.ts'
import { layoutInputOf, type Scene, sceneOf } from './model/scene.ts'
import { PartFacts } from './panel/part-facts.tsx'

export interface NetGraphProps {
  readonly net: Net
  /** An earlier version: what has been added, removed and changed since is marked. */
  readonly before?: Net
  readonly onSelect?: (nodeKey: string | null) => void
}

interface Drawn {
  readonly scene: Scene
  readonly faces: readonly Face[]
}

export function NetGraph({ net, before, onSelect }: NetGraphProps) {
  const drawn = useSignal<Drawn | null>(null)
  const failure = useSignal<Error | null>(null)
  const selected = useSignal<number | null>(null)
  useEffect(() => {
    let isOld = false
    const drawing = drawingOf(net, before ?? null)
    layoutFor(layoutInputOf(drawing, new Map())).then(
      (layout) => {
        if (isOld) return
        const scene = sceneOf({ id: '', drawing, layout, inner: new Map() })
        selected.value = null
        drawn.value = { scene, faces: scene.parts.map(() => ({ state: '', mark: null, held: null })) }
      },
      (error: Error) => {
        failure.value = error
      },
    )
    return () => {
      isOld = true
    }
  }, [net, before])
  if (failure.value !== null) return <Problem error={failure.value} />
  if (drawn.value === null) return <p class="dim">Drawing …</p>
  const { scene, faces } = drawn.value
  const part = selected.value === null ? undefined : scene.parts[selected.value]
  const select = (i: number | null): void => {
    selected.value = i
    onSelect?.(i === null ? null : (scene.parts[i]?.key ?? null))
  }
  return (
    <>
      {before !== undefined && <Changes parts={scene.parts} />}
      <GraphView
        label={net.name}
        scene={scene}
        faces={faces}
        selected={selected.value}
        onSelect={select}
        hasStates={false}
        panel={
          part !== undefined && (
            <aside class="graph-panel" aria-label="The selected step">
              <h2>
                <bdi>{part.label}</bdi>
              </h2>
              <PartFacts part={part} />
            </aside>
          )
        }
      />
    </>
  )
}

const SIGNS = { added: '+', removed: '−', changed: '≠' } as const

function Changes({ parts }: { readonly parts: readonly Part[] }) {
  const nodes = parts.filter(({ shape }) => shape !== 'undo')
  const count = (change: Part['change']): number => nodes.filter((part) => part.change === change).length
  return (
    <p class="dim">
      {(['added', 'removed', 'changed'] as const).map((change, i) => (
        <span key={change}>
          {i > 0 && ' · '}
          {SIGNS[change]} {count(change)} {change}
        </span>
      ))}
    </p>
  )
}
