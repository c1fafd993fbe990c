/** The drawn net. Its code is loaded when a net is first looked at. */
import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import type { NetGraphProps } from '../../graph/net-graph.tsx'
import { Problem } from '../../ui/problem.tsx'

const loaded = signal<ComponentType<NetGraphProps> | null>(null)
const failure = signal<Error | null>(null)

async function load(): Promise<void> {
  try {
    loaded.value = (await import('../../graph/net-graph.tsx')).NetGraph
    failure.value = null
  } catch (error) {
    failure.value = error as Error
  }
}

export function NetPicture(props: NetGraphProps) {
  useEffect(() => {
    if (loaded.value === null) void load()
  }, [])
  const NetGraph = loaded.value
  if (NetGraph !== null) return <NetGraph {...props} />
  return failure.value === null ? <p class="dim">Loading the picture …</p> : <Problem error={failure.value} />
}
