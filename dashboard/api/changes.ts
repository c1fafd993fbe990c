/**
 * What changes on the server, as it happens: one stream for all pages (`GET /v1/changes`), which continues from its
 * last position after an interruption. The browser reconnects by itself and sends that position. While no page listens
 * or the window is hidden, there is no stream. Where the server offers none, pages are read again by the clock.
 */
import { signal } from '@preact/signals'
import { onReturn, unreachable } from './connection.ts'

export interface Changes {
  /** States by instance, for those that have changed; not all of them if `more`. */
  readonly instances: ReadonlyMap<string, string>
  readonly more: boolean
  readonly areas: ReadonlySet<string>
}

export type ChangeListener = (changes: Changes) => void

/** live: changes arrive. paused: the user has stopped them. polling: there is no stream. */
export const liveness = signal<'live' | 'connecting' | 'polling' | 'paused'>('connecting')

const listeners = new Set<ChangeListener>()
let source: EventSource | null = null
let position: string | null = null

export function onChanges(listener: ChangeListener): () => void {
  listeners.add(listener)
  open()
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) close()
  }
}

export function pauseLive(paused: boolean): void {
  if (paused) {
    close()
    liveness.value = 'paused'
  } else {
    liveness.value = 'connecting'
    open()
    everythingMayHaveChanged()
  }
}

function open(): void {
  if (source !== null || listeners.size === 0 || document.hidden || liveness.value === 'paused') return
  const stream = new EventSource(
    position === null ? '/v1/changes' : `/v1/changes?after=${encodeURIComponent(position)}`,
  )
  source = stream
  stream.onopen = () => {
    liveness.value = 'live'
  }
  stream.addEventListener('change', (event) => {
    if (event.lastEventId !== '') position = event.lastEventId
    publish(event.data as string)
  })
  stream.onerror = () => {
    // Closed: the server refused the stream. Connecting: the browser tries again.
    if (stream.readyState === EventSource.CLOSED) {
      source = null
      liveness.value = 'polling'
    } else {
      liveness.value = 'connecting'
      unreachable()
    }
  }
}

function close(): void {
  source?.close()
  source = null
}

function publish(data: string): void {
  const message = JSON.parse(data) as {
    readonly instances?: readonly (readonly [string, string])[]
    readonly more?: boolean
    readonly areas?: readonly string[]
  }
  const changes: Changes = {
    instances: new Map(message.instances ?? []),
    more: message.more ?? false,
    areas: new Set(message.areas ?? []),
  }
  for (const listener of listeners) listener(changes)
}

function everythingMayHaveChanged(): void {
  for (const listener of listeners) listener({ instances: new Map(), more: true, areas: new Set(['*']) })
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    close()
    return
  }
  open()
  everythingMayHaveChanged()
})

onReturn(() => {
  open()
  everythingMayHaveChanged()
})
