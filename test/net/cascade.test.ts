/** One fire moves at most 1,000 tokens and items. The rest follows with `continue`, whatever happens in between. */
import { expect, test } from 'vitest'
import * as core from '../../src/net/index.ts'
import type { Effect, Happening } from '../../src/net/marking.ts'
import type { Json, Net, Node, Work } from '../../src/net/net.ts'
import { plain, plainNet } from './plain.ts'
import { type Row, World } from './world.ts'

const MOVES = 1_000
const run: Work = { kind: 'run', type: 'work', queue: 'default', priority: 0, delayMs: 0, args: null, limitKey: null }
const pass: Work = { kind: 'pass' }
const child: Work = { kind: 'child', net: 'child-net', mode: 'attached', input: null }
const numbers = (length: number): Json[] => Array.from({ length }, (_, i) => i)
const eachOf = (body: Work, change: object = {}): Work =>
  ({ kind: 'each', items: null, body, maxInFlight: null, failFast: false, ...change }) as Work

function given(net: Net, items: { readonly [node: string]: readonly Json[] } = {}): World {
  return new World(core, net, items)
}

function created(effects: readonly Effect[]): number {
  return effects.filter((effect) => effect.do === 'run' || effect.do === 'child' || effect.do === 'gate').length
}

/** The number of fires; each within its bound. */
function goOn(world: World): number {
  let fires = 0
  while (world.marking.more) {
    expect(created(world.fireOnce({ kind: 'continue' }))).toBeLessThanOrEqual(MOVES)
    fires += 1
    expect(fires).toBeLessThan(50)
  }
  return fires
}

function end(world: World, row: Row, kind: 'succeeded' | 'failed' = 'succeeded'): void {
  row.started = true
  row.open = false
  const outcome = kind === 'failed' ? { kind, error: { code: 'test', message: 'test' } } : { kind }
  world.fireOnce({ kind: 'ended', place: row.place, outcome } as Happening)
}

function endAll(world: World): void {
  for (let row = world.rows.find((r) => r.open); row !== undefined; row = world.rows.find((r) => r.open))
    end(world, row)
}

function holding(key: string): Node {
  return { ...plain(key, run), admit: { rules: [{ when: 'ctx.k0', allow: true }], onDeny: 'hold' } }
}

test('an each of 5,000 items is issued in batches, every item once', () => {
  const world = given(plainNet([plain('n', eachOf(run))], ['n']), { n: numbers(5_000) })
  expect(created(world.fireOnce({ kind: 'start' }))).toBeLessThanOrEqual(MOVES)
  expect(world.marking).toMatchObject({ more: true, state: 'running', phase: 'forward' })
  expect(goOn(world)).toBeGreaterThanOrEqual(4)
  expect(world.marking).toMatchObject({ open: 5_000, more: false })
  expect(world.rows.map((row) => row.place.item)).toEqual(numbers(5_000))
  expect(world.slots.has('q')).toBe(false)
  for (const row of [...world.rows]) end(world, row)
  expect(world.marking).toMatchObject({ phase: 'ended', state: 'completed', outcome: 'success', succeeded: 5_000 })
})

test('a list of 2,500 items from an expression continues from the frozen list', () => {
  const world = given(plainNet([plain('n', eachOf(run, { items: 'list:2500' }))], ['n']))
  world.fireOnce({ kind: 'start' })
  goOn(world)
  expect(world.rows.map((row) => row.place.item)).toEqual(numbers(2_500))
})

test('a chain of 2,500 pass nodes is cut and continues', () => {
  const nodes = numbers(2_500).map((i) => plain(`p${i}`, pass, [i === 2_499 ? 'last' : `p${Number(i) + 1}`]))
  const world = given(plainNet([...nodes, plain('last', run)], ['p0']))
  expect(created(world.fireOnce({ kind: 'start' }))).toBe(0)
  expect(world.marking).toMatchObject({ more: true, open: 0, live: 1, state: 'running' })
  expect(goOn(world)).toBe(2)
  expect(world.marking).toMatchObject({ more: false, open: 1 })
  endAll(world)
  expect(world.marking).toMatchObject({ state: 'completed', succeeded: 1 })
})

test('items that end while the cascade is cut are counted, and the rest is still issued', () => {
  const world = given(plainNet([plain('n', eachOf(run))], ['n']), { n: numbers(3_000) })
  world.fireOnce({ kind: 'start' })
  for (const row of world.rows.slice(0, 200)) end(world, row)
  expect(world.marking).toMatchObject({ more: true, succeeded: 200, phase: 'forward' })
  goOn(world)
  expect(world.rows).toHaveLength(3_000)
  endAll(world)
  expect(world.marking).toMatchObject({ state: 'completed', succeeded: 3_000 })
})

test('a failed item of a cut failFast each stops the issue', () => {
  const node: Node = { ...plain('n', eachOf(run, { failFast: true })), onFailure: 'skip' }
  const world = given(plainNet([node], ['n']), { n: numbers(3_000) })
  world.fireOnce({ kind: 'start' })
  const issued = world.rows.length
  end(world, world.rows[0]!, 'failed')
  goOn(world)
  expect(world.rows).toHaveLength(issued)
  endAll(world)
  expect(world.marking).toMatchObject({ state: 'completed', failed: 1, succeeded: issued - 1 })
})

test('a cancel in a cut cascade issues nothing more and cancels issued items', () => {
  const world = given(plainNet([plain('n', eachOf(run))], ['n']), { n: numbers(5_000) })
  world.fireOnce({ kind: 'start' })
  world.fireOnce({ kind: 'continue' })
  const issued = world.rows.length
  const active = world.rows.slice(0, 3)
  for (const row of active) row.started = true
  world.fireOnce({ kind: 'cancel' })
  goOn(world)
  expect(world.rows).toHaveLength(issued)
  expect(world.rows.filter((row) => row.open)).toEqual(active)
  expect(world.marking).toMatchObject({ phase: 'drain', state: 'cancelling', open: 3 })
  endAll(world)
  expect(world.marking).toMatchObject({ phase: 'ended', state: 'cancelled' })
})

test('a drain reaches every one of 1,500 attached children, and closes 1,500 gates', () => {
  const toGates = numbers(1_500).map((i) => `g${i}`)
  const gates = toGates.map((key) => plain(key, { kind: 'gate', options: null, timeoutMs: null, onTimeout: 'reject' }))
  const net = plainNet([plain('n', eachOf(child)), plain('p', pass, toGates), ...gates], ['n', 'p'])
  const world = given(net, { n: numbers(1_500) })
  world.happen({ kind: 'start' })
  expect(world.marking).toMatchObject({ open: 3_000, gates: 1_500 })
  world.happen({ kind: 'cancel' })
  expect(world.marking).toMatchObject({ phase: 'drain', gates: 0, open: 1_500 })
  expect(world.askedToCancel.size).toBe(1_500)
  endAll(world)
  expect(world.marking.state).toBe('cancelled')
})

test('a context change before the cut admits held tokens after it', () => {
  const sets = plain('sets', pass, ['n'])
  const setting = { ...sets, next: { ...sets.next, arcs: [{ ...sets.next.arcs[0]!, set: { k0: true } }] } }
  const net = plainNet([holding('held'), setting, plain('n', eachOf(run))], ['held', 'sets'])
  const world = given(net, { n: numbers(2_500) })
  world.fireOnce({ kind: 'start' })
  expect(world.marking).toMatchObject({ held: 1, more: true })
  goOn(world)
  expect(world.marking).toMatchObject({ held: 0, open: 2_501 })
})

test('1,500 tokens admitted by one patch are fired in batches', () => {
  const world = given(
    plainNet(
      [
        plain(
          'p',
          pass,
          numbers(1_500).map(() => 'held'),
        ),
        holding('held'),
      ],
      ['p'],
    ),
  )
  world.happen({ kind: 'start' })
  expect(world.marking).toMatchObject({ held: 1_500, state: 'waiting' })
  expect(created(world.fireOnce({ kind: 'patched', set: { k0: true } }))).toBeLessThanOrEqual(MOVES)
  expect(goOn(world)).toBeGreaterThanOrEqual(1)
  expect(world.marking).toMatchObject({ held: 0, open: 1_500 })
})
