/** Arguments and results of a step must match its schemas, through every interface. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RunRow } from '../../src/model/rows.ts'
import type { Json, Net, Node, NodeSchema } from '../../src/net/net.ts'
import { SHARED } from '../inbox/foreign.ts'
import { Stage } from '../inbox/stage.ts'
import { type Drive, net, node, ONCE, run, undoBy } from './drive.ts'
import { events } from './specifications/stage.ts'

const AMOUNT = { type: 'object', required: ['amount'], properties: { amount: { type: 'number' } } }
const AGAIN = { ...ONCE, maxAttempts: 3, initialMs: 1000, maxMs: 1000 }

/** `pay` receives the input of the workflow. */
function paying(schema: NodeSchema, pay: Partial<Node> = {}, rest: Partial<Net> = {}): Net {
  const work = run('pay', { args: { with: '{{ input }}' } })
  return net(
    [
      node('book', ['pay'], { undo: undoBy('book.undo') }),
      node('pay', ['after'], { work, schema, retry: AGAIN, ...pay }),
      node('after'),
    ],
    rest,
  )
}

const INPUT: NodeSchema = { input: { path: ['with'], schema: AMOUNT }, output: null }
const OUTPUT: NodeSchema = { input: null, output: { type: 'object', required: ['receipt'] } }

describe.each(SHARED)('schemas of steps on $name', (place) => {
  let s: Stage
  let d: Drive
  beforeEach(async () => {
    s = await Stage.open(place)
    d = s.d
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await s.close()
  })

  const start = (schema: NodeSchema, input: Json = null, pay: Partial<Node> = {}, rest: Partial<Net> = {}) =>
    d.start({ net: paying(schema, pay, rest), ...(input === null ? {} : { input }) })

  async function toPay(schema: NodeSchema, pay: Partial<Node> = {}) {
    const id = await start(schema, { amount: 5 }, pay)
    await d.succeed(await d.claimOne())
    return id
  }

  const fetch = async (): Promise<RunRow> => {
    const [one] = await d.engine.leases.fetch({
      queues: ['default'],
      types: null,
      limit: 1,
      holder: 'w1',
      runtime: null,
      tenant: null,
      leaseMs: () => 30_000,
      waitMs: 0,
    })
    return one as RunRow
  }

  describe('arguments', () => {
    it('that match are passed on', async () => {
      await start(INPUT, { amount: 5 })
      await d.succeed(await d.claimOne())
      expect(JSON.parse((await d.claimOne()).payload)).toEqual({ with: { amount: 5 } })
    })

    it('that do not match fail the step before any worker can take it, and nothing is retried', async () => {
      const id = await start(INPUT, { amount: 'much' })
      await d.succeed(await d.claimOne())
      expect(await d.claim()).toEqual([])
      const pay = await s.runAt(id, 'pay')
      expect(pay).toMatchObject({ status: 'failed', attempt: 0, startedAt: null, leasedBy: null })
      expect(JSON.parse(pay.error as string)).toMatchObject({
        code: 'invalid_input',
        category: 'validation',
        message: 'the input does not fit its schema: with.amount must be number',
        details: { validation_errors: [{ path: 'with.amount', message: 'must be number' }] },
      })
      expect(await s.history(pay.id)).toEqual(['created', 'failed'])
      expect(await s.lastRecorded(pay.id)).toMatchObject({ data: { error: { code: 'invalid_input' }, attempt: 0 } })
      expect(await d.state(id)).toBe('failed')
      expect(await d.error(id)).toBe('invalid_input')
      expect((await events(d, id)).slice(-4)).toEqual([
        'created pay',
        'failed pay',
        'instance.draining pay',
        'instance.failed',
      ])
    })

    it('that are missing count as null, and [] is the whole list of arguments', async () => {
      for (const path of [['with', 'deep', 'er'], ['nothing'], []]) {
        const schema: NodeSchema = { input: { path, schema: { type: 'string' } }, output: null }
        const id = await start(schema, { amount: 5 })
        await d.succeed(await d.claimOne())
        expect(await d.error(id)).toBe('invalid_input')
      }
      const asNull = await start({ input: { path: ['nothing'], schema: { type: 'null' } }, output: null })
      await d.work()
      expect(await d.state(asNull)).toBe('completed')
    })

    it('that do not match lead to skip or compensate like any failure', async () => {
      const skipped = await start(INPUT, { amount: 'much' }, { onFailure: 'skip' })
      expect(await d.work()).toEqual(['book', 'after'])
      expect(await d.state(skipped)).toBe('completed')
      const undone = await start(INPUT, { amount: 'much' }, { onFailure: 'compensate' })
      expect(await d.work()).toEqual(['book', 'undo book'])
      expect(await d.state(undone)).toBe('compensated')
    })

    it('of the first step are checked at the start', async () => {
      const work = run('pay', { args: '{{ input }}' })
      const id = await d.start({
        net: net([node('pay', [], { work, schema: { input: { path: [], schema: AMOUNT }, output: null } })]),
        input: { amount: null },
      })
      expect(await d.state(id)).toBe('failed')
      expect(await d.error(id)).toBe('invalid_input')
    })

    it('of each item of a list are checked separately', async () => {
      const body = run('pay', { args: '{{ item }}' })
      const work = { kind: 'each', items: 'input', body, maxInFlight: null, failFast: false } as const
      const schema: NodeSchema = { input: { path: [], schema: { type: 'number' } }, output: { type: 'number' } }
      const id = await d.start({ net: net([node('pay', [], { work, schema })]), input: [1, 'two', 3] })
      const given = await d.claim()
      expect(given.map((x) => JSON.parse(x.payload))).toEqual([1, 3])
      for (const one of given) await d.succeed(one, 1)
      expect(await d.error(id)).toBe('items_failed')
      expect(await s.runAt(id, 'pay', 1)).toMatchObject({ status: 'failed', attempt: 0 })
    })

    it('that do not match leave nothing for a plain SQL client to claim', async () => {
      await start(INPUT, { amount: 'much' })
      const go = await s.foreign()
      await go.succeed((await go.claimed()).id)
      await d.engine.sweep()
      expect(await go.claim()).toBeNull()
    })
  })

  describe('results', () => {
    const NOT: Json = { something: 'else' }

    async function isInvalid(id: string): Promise<void> {
      expect(await d.state(id)).toBe('failed')
      expect((await d.engine.view(id))?.error).toMatchObject({
        code: 'invalid_output',
        category: 'validation',
        node: 'pay',
        message: "the result does not fit its schema: result must have required property 'receipt'",
      })
      const pay = await s.runAt(id, 'pay')
      expect(pay).toMatchObject({ status: 'failed', result: null, attempt: 1 })
      expect(await d.results(id)).not.toMatchObject({ pay: NOT })
      expect((await s.history(pay.id)).filter((type) => ['succeeded', 'failed', 'retried'].includes(type))).toEqual([
        'failed',
      ])
      expect(await d.claim()).toEqual([])
    }

    it('that match are passed on', async () => {
      const id = await toPay(OUTPUT)
      await d.succeed(await d.claimOne(), { receipt: 7 })
      expect(await d.work()).toEqual(['after'])
      expect(await d.results(id)).toMatchObject({ pay: { receipt: 7 } })
    })

    it('reported by a worker with a session: the step has failed, is not retried, and its result is not passed on', async () => {
      const id = await toPay(OUTPUT)
      const reply = await d.succeed(await d.claimOne(), NOT)
      expect(reply.status).toBe('recorded')
      await isInvalid(id)
    })

    it('that are missing count as null', async () => {
      const id = await toPay(OUTPUT)
      await d.succeed(await d.claimOne(), null)
      expect(await d.error(id)).toBe('invalid_output')
    })

    it('reported under an HTTP lease: the answer shows the failed run', async () => {
      const id = await toPay(OUTPUT)
      const { id: runId } = await fetch()
      const [settled] = await d.engine.leases.settle([
        { runId, holder: 'w1', attempt: 1, outcome: { kind: 'succeeded', result: NOT } },
      ])
      expect(settled).toMatchObject({ run: { status: 'failed', result: null } })
      await isInvalid(id)
    })

    it('of a deferred step, completed by its id', async () => {
      const id = await toPay(OUTPUT)
      const delivery = await d.claimOne()
      await d.session.settle({
        delivery,
        reportId: 'later',
        startedAt: 1,
        outcome: { kind: 'deferred' },
        wantNext: false,
      })
      await d.engine.complete({ runId: delivery.runId, outcome: { kind: 'succeeded', result: NOT } })
      await isInvalid(id)
    })

    it('written by plain SQL', async () => {
      const id = await toPay(OUTPUT)
      const go = await s.foreign()
      const claimed = await go.claimed()
      await go.succeed(claimed.id, NOT)
      await d.engine.sweep()
      await isInvalid(id)
      expect(await go.status(claimed.id)).toBe('failed')
      await d.engine.sweep()
      await isInvalid(id)
    })

    it('written by plain SQL that match', async () => {
      const id = await toPay(OUTPUT)
      const go = await s.foreign()
      await go.succeed((await go.claimed()).id, { receipt: 1 })
      await d.engine.sweep()
      expect(await d.work()).toEqual(['after'])
      expect(await d.results(id)).toMatchObject({ pay: { receipt: 1 } })
    })

    it('that do not match undo the completed steps, but not the step itself', async () => {
      const id = await toPay(OUTPUT, { onFailure: 'compensate', undo: undoBy('pay.undo') })
      await d.succeed(await d.claimOne(), NOT)
      expect(await d.work()).toEqual(['undo book'])
      expect(await d.state(id)).toBe('compensated')
    })

    it('of an undo are not checked with the schemas of its step', async () => {
      const both: NodeSchema = { input: INPUT.input, output: OUTPUT.output }
      const id = await start(both, { amount: 5 }, { undo: undoBy('pay.undo') })
      await d.succeed(await d.claimOne())
      await d.succeed(await d.claimOne(), { receipt: 1 })
      const after = await d.claimOne()
      await d.engine.cancelInstance({ id, actor: null })
      await d.succeed(after)
      const undone = await start(both, { amount: 5 }, { undo: undoBy('pay.undo') }, { onFailure: 'compensate' })
      await d.succeed(await d.claimOne())
      await d.succeed(await d.claimOne(), { receipt: 1 })
      await d.fail(await d.claimOne(), { retryable: false })
      expect(await d.work()).toEqual(['undo pay', 'undo book'])
      expect(await d.state(undone)).toBe('compensated')
    })

    it('carried over by a retry of the workflow are not checked again', async () => {
      const loose = { input: null, output: null }
      const id = await toPay(loose)
      await d.succeed(await d.claimOne(), NOT)
      await d.fail(await d.claimOne(), { retryable: false })
      const strict = await d.engine.retryInstance({ id, actor: null })
      expect(await d.work()).toEqual(['after'])
      expect(await d.state(strict.id)).toBe('completed')
      expect(await d.results(strict.id)).toMatchObject({ pay: NOT })
    })

    it('of several runs that end at once are checked separately, and the others continue', async () => {
      const ids = [await start(OUTPUT), await start(OUTPUT), await start(OUTPUT)]
      for (const book of await d.claim()) await d.succeed(book)
      const pays = await d.claim()
      await Promise.all(pays.map((x, i) => d.succeed(x, i === 1 ? NOT : { receipt: i })))
      const states = await Promise.all(ids.map((id) => d.state(id)))
      expect(states.toSorted()).toEqual(['failed', 'running', 'running'])
    })
  })

  describe('a schema', () => {
    const outputOf = (output: Json): NodeSchema => ({ input: null, output })

    it('that is invalid is refused with its path when the net is started', async () => {
      await expect(start(outputOf({ type: 'strng' }))).rejects.toThrow(/nodes\.pay\.schema\.output: not a JSON Schema/)
      await expect(start(outputOf('text'))).rejects.toThrow(/nodes\.pay\.schema\.output: a JSON Schema: an object/)
      await expect(start({ input: { path: [], schema: [] }, output: null })).rejects.toThrow(
        /nodes\.pay\.schema\.input/,
      )
    })

    it('cannot refer to anything outside itself', async () => {
      const far = { $ref: 'http://127.0.0.1:1/schema.json' }
      await expect(start(outputOf(far))).rejects.toThrow(/not a JSON Schema: can't resolve reference/)
    })

    it('is at most 65,536 characters long', async () => {
      const long = { description: 'x'.repeat(65_536) }
      await expect(start(outputOf(long))).rejects.toThrow(/at most 65536/)
    })

    it('is allowed for runs only', async () => {
      const pass = node('x', [], { work: { kind: 'pass' }, schema: OUTPUT })
      await expect(d.start({ net: net([pass]) })).rejects.toThrow(/nodes\.x\.schema: schemas are for runs/)
    })

    it('with a pattern that would never end is given up after a limited time, and the value does not match', async () => {
      const id = await toPay(outputOf({ type: 'string', pattern: '^(a+)+$' }))
      const began = performance.now()
      await d.succeed(await d.claimOne(), `${'a'.repeat(60)}!`)
      expect(performance.now() - began).toBeLessThan(20_000)
      expect(await d.error(id)).toBe('invalid_output')
      expect((await d.engine.view(id))?.error?.message).toContain('could not be checked within 250 ms')
    })

    it('whose references multiply, or that compares long lists, is given up likewise', async () => {
      const levels = Array.from({ length: 40 }, (_, i) => [
        `l${i}`,
        i === 39
          ? { type: 'string' }
          : { allOf: [{ $ref: `#/definitions/l${i + 1}` }, { $ref: `#/definitions/l${i + 1}` }] },
      ])
      const multiplied = { $ref: '#/definitions/l0', definitions: Object.fromEntries(levels) } as Json
      const first = await toPay(outputOf(multiplied))
      await d.succeed(await d.claimOne(), 'x')
      expect(await d.error(first)).toBe('invalid_output')
      const second = await toPay(outputOf({ uniqueItems: true }))
      await d.succeed(
        await d.claimOne(),
        Array.from({ length: 20_000 }, (_, i) => ({ i })),
      )
      expect(await d.error(second)).toBe('invalid_output')
    })
  })
})
