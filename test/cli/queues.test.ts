/** queues show at a shell. */
import { expect, it } from 'vitest'
import { shell } from './petrel.ts'

const sh = shell()
const petrel = (...args: readonly string[]) => sh.petrel(...args, '--store', 'sqlite:queues.db')

it('queues show prints what waits in a queue and what passes through', async () => {
  await petrel('migrate')
  for (const key of ['1', '2']) await petrel('submit', 'cli.mail.v1', '--queue', 'mail', '--key', key)
  await petrel('submit', 'cli.mail.v1', '--queue', 'mail', '--run-at', '2090-01-01T00:00:00Z')
  await petrel('queues', '--pause', 'mail')
  const lines = (await petrel('queues', 'show', 'mail')).out
  expect(lines).toMatch(/^queue +mail \(paused\)$/m)
  expect(lines).toMatch(/^pending +3 \(exact\): 2 due, 1 scheduled, 0 to retry, 0 held$/m)
  expect(lines).toMatch(/^oldest due +\d[\d.]* s$/m)
  expect(lines).toMatch(/^utilisation +– now, – recently, of 0$/m)
  expect((await petrel('queues', 'show', 'mail', '--minutes', '60', '--json')).json()).toMatchObject({
    queue: 'mail',
    depth: { pending: 3, accuracy: 'exact' },
  })
  expect((await petrel('queues', 'show', 'mail', '--minutes', '0')).code).toBe(2)
  expect((await petrel('queues', 'show')).code).toBe(2)
}, 60_000)

it('queues weigh sets how much a key weighs, and show lists it', async () => {
  await petrel('migrate')
  const submitted = await petrel('submit', 'cli.fair.v1', '--queue', 'shared', '--fair-key', 'ann', '--json')
  expect(submitted.json()).toMatchObject({ run: { fair_key: 'ann' } })
  expect((await petrel('queues', 'weigh', 'shared', 'ann', '3')).out).toBe('ann weighs 3 in queue shared\n')
  expect((await petrel('queues', 'show', 'shared')).out).toMatch(/^weight +3 of ann$/m)
  expect((await petrel('queues', 'show', 'shared', '--json')).json()).toMatchObject({
    weights: [{ key: 'ann', tenant: null, weight: 3 }],
  })
  const refused = await petrel('queues', 'weigh', 'shared', 'ann', 'much')
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('a whole number from 1 to 100')])
  expect((await petrel('queues', 'weigh', 'shared', 'ann', '--remove')).out).toBe('ann weighs 1 in queue shared\n')
}, 60_000)
