/** A listener of events, without a network. */
import { describe, expect, it } from 'vitest'
import type { EventHub, HubEvent, Portion } from '../../../src/notations/ojs/http/events/event-hub.ts'
import { pump } from '../../../src/notations/ojs/http/events/event-listener.ts'
import { WHOLE } from '../../../src/notations/ojs/http/events/event-place.ts'

const event = (feedId: number, part = 0): HubEvent => ({ feedId, part }) as HubEvent

/** Returns these batches one after another, then waits for the signal. */
function hubOf(...portions: readonly Portion[]): EventHub & { readonly asked: number[]; listening: number } {
  const rest = [...portions]
  const hub = {
    asked: [] as number[],
    listening: 0,
    listen() {
      hub.listening++
      return () => {
        hub.listening--
      }
    },
    async after(place: number, signal: AbortSignal): Promise<Portion> {
      hub.asked.push(place)
      const next = rest.shift()
      if (next !== undefined) return next
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      return { events: [], upTo: place }
    },
  }
  return hub as unknown as ReturnType<typeof hubOf>
}

const never = new AbortController().signal

describe('a listener', () => {
  it('continues within the events of one stored row, and resumes from its last position', async () => {
    const hub = hubOf(
      { events: [event(7, 0), event(7, 1), event(7, 2), event(9, 0)], upTo: 9 },
      { events: [], upTo: 20 },
      { events: [event(21)], upTo: 21 },
    )
    const sent: HubEvent[] = []
    const ending = await pump({
      hub,
      from: { feedId: 7, part: 1 },
      wants: () => true,
      outlet: { send: (one) => sent.push(one) > 0, drained: async () => {} },
      gone: never,
      closing: never,
      last: ({ feedId }) => feedId === 21,
    })
    expect(sent).toEqual([event(7, 2), event(9, 0), event(21)])
    expect(hub.asked).toEqual([6, 9, 20])
    expect(ending).toMatchObject({ why: 'finished' })
    expect(hub.listening).toBe(0)
  })

  it('that reads nothing for too long is disconnected, and can resume', async () => {
    const hub = hubOf({ events: [event(1), event(2), event(3)], upTo: 3 })
    const ending = await pump({
      hub,
      from: { feedId: 0, part: WHOLE },
      wants: () => true,
      outlet: {
        send: ({ feedId }) => feedId !== 2,
        drained: (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      },
      gone: never,
      closing: never,
      patienceMs: 20,
    })
    expect(ending).toEqual({ why: 'slow', place: event(2) })
    expect(hub.listening).toBe(0)
  })

  it('that is only slow gets the remaining events when it has room again', async () => {
    const hub = hubOf({ events: [event(1), event(2), event(3)], upTo: 3 })
    const gone = new AbortController()
    const sent: number[] = []
    let drains = 0
    const pumping = pump({
      hub,
      from: { feedId: 0, part: WHOLE },
      wants: ({ feedId }) => feedId !== 2,
      outlet: {
        send: ({ feedId }) => {
          sent.push(feedId)
          if (feedId === 3) gone.abort()
          return false
        },
        drained: async () => void drains++,
      },
      gone: gone.signal,
      closing: never,
    })
    expect(await pumping).toMatchObject({ why: 'gone' })
    expect([sent, drains > 0]).toEqual([[1, 3], true])
  })

  it('is notified when the server shuts down', async () => {
    const closing = new AbortController()
    const hub = hubOf()
    const pumping = pump({
      hub,
      from: { feedId: 5, part: WHOLE },
      wants: () => true,
      outlet: { send: () => true, drained: async () => {} },
      gone: never,
      closing: closing.signal,
    })
    closing.abort()
    expect(await pumping).toEqual({ why: 'closing', place: { feedId: 5, part: WHOLE } })
  })
})
