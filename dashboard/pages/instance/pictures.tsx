/** The graph and the timeline, whose code is loaded when they are first opened. */
import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { param, setQuery } from '../../browser/router.ts'
import { ENDED, type Instance } from './model.ts'

interface PictureProps {
  readonly id: string
  readonly live: boolean
  readonly selected: string | null
  readonly onSelect: (step: string | null) => void
}

type Picture = ComponentType<PictureProps>

const PICTURES = {
  graph: (): Promise<Picture> => import('../../graph/instance-graph.tsx').then((part) => part.InstanceGraph),
  timeline: (): Promise<Picture> =>
    import('../../timeline/instance-timeline.tsx').then((part) => part.InstanceTimeline),
}

export function PictureTab({
  which,
  instance,
}: {
  readonly which: keyof typeof PICTURES
  readonly instance: Instance
}) {
  const loaded = useSignal<{ readonly Picture: Picture } | null>(null)
  const failed = useSignal(false)
  useEffect(() => {
    PICTURES[which]().then(
      (Picture) => {
        loaded.value = { Picture }
      },
      () => {
        failed.value = true
      },
    )
  }, [which])
  if (failed.value) return <p class="problem">The picture could not be loaded. Load the page again.</p>
  if (loaded.value === null) return <p class="dim">Loading …</p>
  const { Picture } = loaded.value
  const isOwn = param('in') === ''
  return (
    <Picture
      id={instance.id}
      live={!ENDED.has(instance.state)}
      selected={isOwn && param('step') !== '' ? param('step') : null}
      onSelect={(step) => setQuery({ step, in: null, ...(which === 'timeline' ? { tab: null } : {}) })}
    />
  )
}
