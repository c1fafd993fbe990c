import { describe, expect, it } from 'vitest'
import { EVERYTHING, eventIn, filters, passes } from './events.ts'

const TEXT =
  '{"seq":7,"type":"succeeded","at":"2026-11-20T00:00:00.000Z","instance_id":"i","run_id":"r","node":"pay",' +
  '"actor":null,"worker":"w1","data":{"id":12345678901234567890}}'

describe('an event', () => {
  it('keeps its data as they were written', () => {
    expect(eventIn(TEXT)).toEqual({
      seq: 7,
      type: 'succeeded',
      at: '2026-11-20T00:00:00.000Z',
      node: 'pay',
      run: 'r',
      who: 'w1',
      data: '{"id":12345678901234567890}',
    })
  })

  it('of a run has the number of its place', () => {
    expect(eventIn('{"type":"created","at":"2026-11-20T00:00:00Z","actor":"ann","data":null}', 3)).toMatchObject({
      seq: 3,
      who: 'ann',
      data: null,
    })
  })

  it('without a type or a time is none', () => {
    expect([eventIn('{"id":4,"error":{}}'), eventIn('{"type":"a","at":"soon"}'), eventIn('[]')]).toEqual([
      null,
      null,
      null,
    ])
  })

  it('passes a filter that names parts of it', () => {
    const event = eventIn(TEXT)
    if (event === null) throw new Error('no event')
    const one = (filter: Partial<typeof EVERYTHING>): boolean => passes(event, { ...EVERYTHING, ...filter })
    expect([one({}), one({ type: 'SUCC' }), one({ node: 'pa' }), one({ who: 'w1' }), one({ text: '5678' })]).toEqual(
      Array(5).fill(true),
    )
    expect([one({ type: 'failed' }), one({ node: '"pa"' }), one({ who: 'ann' }), one({ text: 'ann' })]).toEqual(
      Array(4).fill(false),
    )
    expect(one({ node: '"pay"' })).toBe(true)
    expect([filters(EVERYTHING), filters({ ...EVERYTHING, who: ' ' }), filters({ ...EVERYTHING, who: 'w' })]).toEqual([
      false,
      false,
      true,
    ])
  })
})
