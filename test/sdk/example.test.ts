/** The example of the documentation, verbatim. */
import { expect, it } from 'vitest'

it('the first example works as printed', async () => {
  const { chain, group, job, Petrel, task, Terminal } = await import('../../src/index.ts')
  type StepContext<T> = import('../../src/index.ts').StepContext<T>

  const validate = task('order.validate', async (order: { id: string; total: number }) => {
    if (order.total <= 0) throw new Terminal('nothing to pay', { code: 'empty_order' })
    return order
  })
  const charge = task('order.charge', async (_: unknown, ctx: StepContext<{ id: string; total: number }>) => {
    const order = await ctx.previous()
    return { receipt: `${order.id}/${ctx.key.length}`, amount: order.total }
  })
  const email = task('mail.send', async (to: string, ctx: StepContext<{ amount: number }>) => {
    return `${to}: paid ${(await ctx.previous()).amount}`
  })

  const petrel = await Petrel.open('sqlite::memory:')
  petrel.handle(validate).handle(charge).handle(email)
  await petrel.work({ concurrency: 10 })

  const order = await petrel.start(
    chain(job(validate, { id: 'o1', total: 12 }), job(charge), group(job(email, 'ada'), job(email, 'bob'))),
    { idempotencyKey: 'order-o1' },
  )
  const mails: [string, string] = await order.result()
  await petrel.close()

  expect(mails).toEqual(['ada: paid 12', 'bob: paid 12'])
})
