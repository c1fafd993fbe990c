import { describe, expect, it } from 'vitest'
import { changed, counted } from './count.ts'
import { fingerprintOf, storedMessage, withoutIds } from './fingerprint.ts'
import { type ErrorGroupRow, type FailureRow, groupCursorText, parseGroupCursor } from './groups.ts'

const CAUSE = { tenant: null, type: 'card.charge', code: 'declined', node: 'pay', message: 'order 17 was declined' }

let made = 0
const failure = (at: number, given: Partial<FailureRow> = {}): FailureRow => ({
  ...CAUSE,
  id: `id-${++made}`,
  fingerprint: 'f',
  definition: 'order',
  worker: 'w1',
  holder: null,
  build: null,
  runId: `run-${made}`,
  instanceId: `instance-${made}`,
  at,
  ...given,
})

describe('a fingerprint', () => {
  it('is the same whatever numbers and ids a message contains', () => {
    const one = fingerprintOf(CAUSE)
    expect(one).toMatch(/^[0-9a-f]{16}$/)
    expect(fingerprintOf({ ...CAUSE, message: 'order 18 was  declined' })).toBe(one)
    for (const other of [{ tenant: 'acme' }, { type: 'x' }, { code: 'x' }, { node: null }, { message: 'x' }]) {
      expect(fingerprintOf({ ...CAUSE, ...other })).not.toBe(one)
    }
  })

  it.each([
    ['order 17 of 2026-01-31 at 10:15:00.250', 'order # of #-#-# at #'],
    ['run 01890000-0000-7000-8000-00000000000a failed', 'run # failed'],
    ['trace 4bf92f3577b34da6a3ce929d0e0e4736 ended', 'trace # ended'],
    ['the facade of deadbeef', 'the facade of deadbeef'],
    ['connect ECONNREFUSED 10.0.0.7:5432', 'connect ECONNREFUSED #'],
    ['  two\n\tlines ', 'two lines'],
  ])('%s is compared as %s', (message, compared) => expect(withoutIds(message)).toBe(compared))

  it('takes the beginning of long messages, and texts that no store accepts', () => {
    expect(withoutIds('x'.repeat(10_000))).toHaveLength(500)
    expect(storedMessage(`a\0b\ud800${'x'.repeat(2_000)}`)).toMatch(/^ab\ufffdx+$/)
    expect(storedMessage('x'.repeat(2_000))).toHaveLength(1_000)
  })
})

describe('a group', () => {
  const open = counted(null, [failure(100)])

  it('begins with its first failure', () => {
    expect(open).toMatchObject({
      state: 'open',
      regressed: false,
      count: 1,
      firstAt: 100,
      lastAt: 100,
      message: 'order # was declined',
      lastMessage: 'order 17 was declined',
      definitions: ['order'],
      workers: ['w1'],
    })
  })

  it('counts failures in any order, and shows the last one', () => {
    const late = failure(300, { message: 'order 19 was declined', definition: 'refund', worker: null })
    const group = counted(open, [late, failure(50), failure(200, { worker: 'w2' })])
    expect(group).toMatchObject({
      count: 4,
      firstAt: 50,
      lastAt: 300,
      lastMessage: 'order 19 was declined',
      lastRunId: late.runId,
      definitions: ['refund', 'order'],
      workers: ['w2', 'w1'],
    })
    const names = counted(
      null,
      Array.from({ length: 30 }, (_, i) => failure(i, { definition: `d${i}` })),
    ).definitions
    expect([names.length, names[0]]).toEqual([20, 'd29'])
  })

  it('resolved: a failure after that opens it as regressed; one from before does not', () => {
    const resolved = changed(open, { to: 'resolved', actor: 'ada', reason: 'v2' }, 200)
    expect(resolved).toMatchObject({ state: 'resolved', stateBy: 'ada', reason: 'v2', stateAt: 200 })
    expect(counted(resolved, [failure(150), failure(200)])).toMatchObject({ state: 'resolved', count: 3 })
    const regressed = counted(resolved, [failure(201)])
    expect(regressed).toMatchObject({ state: 'open', regressed: true, stateAt: 201, stateBy: null, reason: null })
    expect(counted(regressed, [failure(202)])).toMatchObject({ state: 'open', regressed: true })
    expect(changed(regressed, { to: 'open', actor: 'ada', reason: null }, 300).regressed).toBe(false)
  })

  it('ignored until it has recurred so many times', () => {
    const ignored = changed(open, { to: 'ignored', actor: null, reason: null, times: 3, forMs: null }, 200)
    const twice = counted(ignored, [failure(201), failure(202)])
    expect(twice).toMatchObject({ state: 'ignored', count: 3 })
    expect(counted(twice, [failure(203)])).toMatchObject({ state: 'open', regressed: false, ignoredCount: null })
  })

  it('ignored for a time: the first failure after it opens the group', () => {
    const ignored = changed(open, { to: 'ignored', actor: null, reason: null, times: null, forMs: 100 }, 200)
    const during = counted(ignored, [failure(250), failure(300)])
    expect(during).toMatchObject({ state: 'ignored', ignoredUntil: 300 })
    expect(counted(during, [failure(301)])).toMatchObject({ state: 'open', ignoredUntil: null })
  })

  it('has a place in the list', () => {
    const place = { lastAt: 17, fingerprint: '0123456789abcdef' }
    expect(parseGroupCursor(groupCursorText(place))).toEqual(place)
    for (const text of ['', '17', '17-xyz', `-1-${place.fingerprint}`]) expect(parseGroupCursor(text)).toBeNull()
  })

  it('counting in parts gives the same as counting at once', () => {
    const failures = Array.from({ length: 20 }, (_, i) => failure(i))
    const parts = counted(counted(null, failures.slice(0, 7)), failures.slice(7))
    expect(parts).toEqual<ErrorGroupRow>(counted(null, failures))
  })
})
