import { describe, expect, it } from 'vitest'
import { bodyOf, CHOICES, commandOf, type Order, rateOf } from './orders.ts'
import { type Counted, remainingMs, shareOf, speedOf, withSample } from './progress.ts'

const order: Order = {
  action: 'retry',
  target: 'instances',
  query: 'state:failed',
  rate: 600,
  reason: "the bank's back",
  timeouts: 'stop',
  everything: false,
}
const quoted = (text: string): string => `<${text}>`

describe('an order', () => {
  it('has only what was chosen', () => {
    expect(bodyOf(order)).toEqual({
      action: 'retry',
      target: 'instances',
      q: 'state:failed',
      rate_per_minute: 600,
      reason: "the bank's back",
    })
    expect(bodyOf({ ...order, action: 'pause', rate: null, reason: '', query: '', everything: true })).toEqual({
      action: 'pause',
      target: 'instances',
      q: '',
      timeouts: 'stop',
      confirm: 'everything',
    })
  })

  it('is the same as a command', () => {
    expect(commandOf(order, quoted)).toBe(
      "petrel bulk retry <state:failed> --rate 600 --reason <the bank's back> --yes",
    )
    expect(commandOf({ ...order, action: 'cancel', target: 'runs', rate: null, reason: '' }, quoted)).toBe(
      'petrel bulk cancel <state:failed> --runs --yes',
    )
    expect(commandOf({ ...order, action: 'redrive', target: 'runs', rate: null, reason: '' }, quoted)).toBe(
      'petrel bulk redrive <state:failed> --yes',
    )
    expect(
      commandOf({ ...order, action: 'roll_back', query: '', everything: true, rate: null, reason: '' }, quoted),
    ).toBe("petrel bulk roll-back '' --confirm everything --yes")
  })

  it('whose query begins with a minus is a command without an unknown option', () => {
    expect(commandOf({ ...order, query: '-tag:test', rate: null, reason: '' }, (text) => text)).toBe(
      'petrel bulk retry --yes -- -tag:test',
    )
  })

  it.each([
    ['', null],
    [' 600 ', 600],
    ['0', undefined],
    ['60001', undefined],
    ['1.5', undefined],
    ['many', undefined],
  ])("has a rate of '%s': %s", (text, rate) => expect(rateOf(text)).toBe(rate))

  it('says of each action what it does', () => {
    for (const { label, effect } of [...CHOICES.instances, ...CHOICES.runs]) {
      expect(label).toMatch(/^[A-Z]/)
      expect(effect).toMatch(/\.$/)
    }
  })
})

describe('progress', () => {
  const at = (counts: Partial<Counted>): Counted => ({
    matched: 100,
    pending: 40,
    succeeded: 50,
    refused: 8,
    failed: 2,
    selecting: false,
    ...counts,
  })

  it('is the share of what has a result', () => {
    expect(shareOf(at({}))).toBe(0.6)
    expect(shareOf(at({ succeeded: 90, pending: 0, selecting: true }))).toBe(0.95)
    expect(shareOf(at({ matched: 0, succeeded: 0, refused: 0, failed: 0, pending: 0 }))).toBe(1)
  })

  it('has the speed of the last half minute', () => {
    let samples = withSample([], { at: 0, settled: 0 })
    expect(speedOf(samples)).toBeNull()
    samples = withSample(samples, { at: 6_000, settled: 60 })
    expect(speedOf(samples)).toBe(600)
    for (let at = 7_000; at <= 120_000; at += 1_000) samples = withSample(samples, { at, settled: 60 })
    expect(speedOf(samples)).toBe(0)
    expect(samples.length).toBeLessThan(40)
    expect(withSample(samples, { at: 121_000, settled: 3 })).toHaveLength(1)
  })

  it('ends at a time that follows from the observed speed, or from the ordered rate', () => {
    expect(remainingMs(at({}), 60, null)).toBe(40_000)
    expect(remainingMs(at({}), null, 600)).toBe(4_000)
    expect(remainingMs(at({}), 0, 600)).toBe(4_000)
    expect(remainingMs(at({}), null, null)).toBeNull()
    expect(remainingMs(at({ selecting: true }), 60, 600)).toBeNull()
  })
})
