/** An open stream of server-sent events, and the events received so far. */
import { type Serving, until } from '../serving.ts'

interface Frame {
  readonly id?: string
  /** Of a frame without a type: message. */
  readonly event: string
  readonly data: any
}

const streams: AbortController[] = []

/** After each test. */
export function hangUp(): void {
  for (const stream of streams.splice(0)) stream.abort()
}

/** An open stream and the events received so far. */
export async function listen(s: Serving, path: string, headers: Record<string, string> = {}) {
  const abort = new AbortController()
  streams.push(abort)
  const response = await fetch(s.server.url + path, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: abort.signal,
  })
  const frames: Frame[] = []
  let raw = ''
  let ended = false
  const reading = (async () => {
    const decoder = new TextDecoder()
    let rest = ''
    try {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        const text = decoder.decode(chunk, { stream: true })
        raw += text
        rest += text
        const parts = rest.split('\n\n')
        rest = parts.pop() as string
        for (const part of parts) {
          const data = /^data: (.*)$/m.exec(part)?.[1]
          if (data === undefined) continue
          const id = /^id: (.*)$/m.exec(part)?.[1]
          const event = /^event: (.*)$/m.exec(part)?.[1] ?? 'message'
          frames.push({ ...(id === undefined ? {} : { id }), event, data: JSON.parse(data) })
        }
      }
    } catch {
      // aborted
    }
    ended = true
  })()
  return {
    response,
    frames,
    reading,
    abort: () => abort.abort(),
    raw: () => raw,
    types: () => frames.map(({ event }) => event),
    ended: () => ended,
    has: (wanted: (frames: readonly Frame[]) => boolean) =>
      until(
        async () => frames,
        (all) => wanted(all),
      ),
  }
}
