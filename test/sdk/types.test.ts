/** What the compiler must accept and refuse. The checks are types: nothing here runs against a store. */
import { describe, expectTypeOf, it } from 'vitest'
import { batch, chain, group, job, type Petrel, type StepContext, type Stored, task } from '../../src/index.ts'

interface Order {
  id: string
}
interface Charge {
  chargeId: string
  amount: number
}

const validate = task('order.validate', async (order: Order) => ({ orderId: order.id, total: 12 }))
const charge = task(
  'order.charge',
  async (_: unknown, ctx: StepContext<{ orderId: string; total: number }>): Promise<Charge> => {
    const { orderId, total } = await ctx.previous()
    return { chargeId: orderId, amount: total }
  },
)
const notify = task('order.notify', (_: { to: string }, ctx) => {
  expectTypeOf(ctx.previous()).resolves.toEqualTypeOf<unknown>()
})
const count = task('count', (n: number) => n + 1)
const sum = task('sum', async (_: unknown, ctx: StepContext<number[]>) =>
  (await ctx.previous()).reduce((a, b) => a + b, 0),
)

describe('types of the builders', () => {
  const petrel = null as unknown as Petrel

  it('a task has the types of its arguments and its stored result', () => {
    expectTypeOf(job(validate, { id: 'a' })).toHaveProperty('tree')
    // @ts-expect-error: the arguments are not an Order
    job(validate, { id: 1 })
    // @ts-expect-error: the arguments are missing
    job(validate)
    job(charge)
    expectTypeOf<Stored<{ at: Date; n?: number; list: (Date | undefined)[] }>>().toEqualTypeOf<{
      at: string
      n?: number | null
      list: (string | null)[]
    }>()
  })

  it('results flow through a chain', () => {
    const typed = chain(job(validate, { id: 'a' }), job(charge), job(notify, { to: 'x' }))
    expectTypeOf(typed).not.toBeNever()
    const run = () => petrel.start(chain(job(validate, { id: 'a' }), job(charge)))
    expectTypeOf(run).returns.resolves.toHaveProperty('result').returns.resolves.toEqualTypeOf<Charge>()
    // @ts-expect-error: a count gives a number, a charge takes a validated order
    chain(job(count, 1), job(charge))
    // @ts-expect-error: nor in the middle
    chain(job(validate, { id: 'a' }), job(notify, { to: 'x' }), job(charge), job(count, 1))
  })

  it('a group gives a tuple, or an array for a list made at run time', () => {
    const pair = () => petrel.start(group(job(count, 1), job(validate, { id: 'a' })))
    expectTypeOf(pair)
      .returns.resolves.toHaveProperty('result')
      .returns.resolves.toEqualTypeOf<[number, { orderId: string; total: number }]>()
    const many = () => petrel.start(group([1, 2, 3].map((n) => job(count, n))))
    expectTypeOf(many).returns.resolves.toHaveProperty('result').returns.resolves.toEqualTypeOf<number[]>()
    chain(group(job(count, 1), job(count, 2)), job(sum))
    chain(group([1, 2].map((n) => job(count, n))), job(sum))
    // @ts-expect-error: one of the results is not a number
    chain(group(job(count, 1), job(validate, { id: 'a' })), job(sum))
  })

  it('members of a nested workflow take the result of the previous step', () => {
    chain(job(validate, { id: 'a' }), group(job(charge), job(charge)))
    chain(job(validate, { id: 'a' }), chain(job(charge), job(notify, { to: 'x' })))
    // @ts-expect-error: a count gives a number
    chain(job(count, 1), group(job(charge), job(notify, { to: 'x' })))
  })

  it('callbacks of a batch take its results, with null for failed jobs', () => {
    const total = task(
      'total',
      async (_: unknown, ctx: StepContext<(number | null)[]>) => (await ctx.previous()).length,
    )
    batch([job(count, 1), job(count, 2)], { onComplete: job(total), onSuccess: job(sum) })
    // @ts-expect-error: sum does not expect null
    batch([job(count, 1), job(count, 2)], { onFailure: job(sum) })
  })

  it('a step that is started alone cannot require a previous step', () => {
    // @ts-expect-error: charge takes a validated order
    void (() => petrel.start(chain(job(charge))))
    // @ts-expect-error: charge takes a validated order
    void (() => petrel.enqueue(job(charge)))
  })

  it('a handler that may continue later returns its final result', () => {
    const poll = task('poll', async (n: number, ctx) => (n > 0 ? ctx.later(1000) : { done: true }))
    expectTypeOf(poll.result).toEqualTypeOf<{ done: boolean } | undefined>()
    const never = task('never', (_: null, ctx) => ctx.fail({ code: 'x', message: 'no' }))
    expectTypeOf(never.result).toEqualTypeOf<undefined>()
  })

  it('a deferred result has the type of what completes it', () => {
    const ask = task('ask', (_: unknown, ctx) => ctx.defer<{ answer: number }>())
    const run = () => petrel.enqueue(ask)
    expectTypeOf(run).returns.resolves.toHaveProperty('result').returns.resolves.toEqualTypeOf<{ answer: number }>()
  })
})
