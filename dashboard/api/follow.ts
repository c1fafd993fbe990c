/**
 * Follows a stream of the server whose events have types of their own: the history of an instance, a log. It continues
 * after the last event that was received, and stops while the window is hidden or updates are paused.
 */
import { effect } from '@preact/signals'
import { liveness } from './changes.ts'
import { AnswerError, answerOf } from './client.ts'
import { EventStreamText, type StreamEvent } from './event-stream.ts'

const AGAIN_MS = 3_000

export interface Following {
  /** The place after which the stream begins. */
  readonly after: number
  /** Several at once, as they arrive. */
  readonly onEvents: (events: readonly StreamEvent[]) => void
  /** No more will follow. */
  readonly onEnd?: () => void
  /** The server refuses the stream. */
  readonly onError?: (error: Error) => void
}

/** Returns what ends it. */
export function follow(path: string, following: Following): () => void {
  let last = String(following.after)
  let over = false
  let controller: AbortController | null = null
  let timer: ReturnType<typeof setTimeout> | null = null
  const stop = (): void => {
    controller?.abort()
    controller = null
    if (timer !== null) clearTimeout(timer)
    timer = null
  }
  const take = (events: readonly StreamEvent[]): void => {
    const shown = events.filter(({ type }) => type !== 'end' && type !== 'error')
    last = shown.findLast(({ id }) => id !== '')?.id ?? last
    if (shown.length > 0) following.onEvents(shown)
    if (!events.some(({ type }) => type === 'end')) return
    over = true
    following.onEnd?.()
  }
  const open = async (): Promise<void> => {
    const mine = new AbortController()
    controller = mine
    try {
      await readStream(path, last, mine.signal, take)
    } catch (error) {
      if (mine.signal.aborted) return
      if (error instanceof AnswerError) {
        over = true
        following.onError?.(error)
      }
    }
    if (controller !== mine) return
    controller = null
    if (!over) timer = setTimeout(() => void open(), AGAIN_MS)
  }
  const adjust = (): void => {
    const wanted = !over && !document.hidden && liveness.value !== 'paused'
    if (!wanted) stop()
    else if (controller === null && timer === null) void open()
  }
  const stopWatching = effect(adjust)
  document.addEventListener('visibilitychange', adjust)
  return () => {
    over = true
    stopWatching()
    document.removeEventListener('visibilitychange', adjust)
    stop()
  }
}

async function readStream(
  path: string,
  after: string,
  signal: AbortSignal,
  take: (events: readonly StreamEvent[]) => void,
): Promise<void> {
  const response = await answerOf(path, { signal, headers: { accept: 'text/event-stream', 'last-event-id': after } })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (reader === undefined) return
  const text = new EventStreamText()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const events = text.push(value)
    if (events.length > 0) take(events)
  }
}
