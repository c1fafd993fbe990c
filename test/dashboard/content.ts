/** What the tests of the dashboard look at: definitions of every notation, handlers for them, and runs of the inbox. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { addExampleHandlers, startExamples } from '../../src/cli/demo/examples.ts'
import { type Petrel, petrelOn } from '../../src/client/petrel.ts'
import type { Context } from '../../src/worker/context.ts'
import { Terminal } from '../../src/worker/errors.ts'
import { Handlers } from '../../src/worker/handlers.ts'
import { type Reply, type Serving, until } from '../server/serving.ts'

/** Its last step waits until the test opens the door. */
const ORDER = `
apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: shop-order, version: "1.0", tags: [shop] }
spec:
  timeout: 1h
  steps:
    - name: check
      uses: shop.check
      timeout: 1m
      inputSchema:
        type: object
        required: [amount]
        properties:
          amount: { type: number, minimum: 1 }
    - { name: pay, uses: shop.pay, dependsOn: [check], timeout: 1m }
    - { name: ship, uses: shop.ship, dependsOn: [pay], timeout: 5m }
`

/** Its second step refuses large amounts. */
const REFUND = `
kind: Net
version: 1
name: shop-refund
nodes:
  look: { run: shop.look, next: refund }
  refund: { run: shop.refund, args: { amount: 500 }, next: report }
  report: { run: shop.report }
`

/** Waits for a person, and asks for an answer. */
const LEAVE = `
apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: shop-leave, version: "1.0" }
spec:
  timeout: 7d
  steps:
    - { name: check, uses: shop.look, timeout: 1m }
    - name: approve
      dependsOn: [check]
      approval:
        title: Grant this leave?
        form:
          type: object
          required: [days]
          properties:
            days: { type: integer, minimum: 1 }
            note: { type: string }
        deadline: 2d
    - { name: book, uses: shop.report, dependsOn: [approve], timeout: 1m }
`

/** Fails while the bank is down. */
const CHARGE = `
kind: Net
version: 1
name: shop-charge
nodes:
  charge: { run: shop.charge, args: { order: '{{ input.order }}' } }
`

const NIGHTLY = `
apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: shop-nightly, version: "1.0" }
spec:
  trigger: { schedule: '0 3 * * *', timezone: UTC }
  steps:
    - { name: collect, uses: shop.look, timeout: 1m }
`

/** Deployed by a test. */
export const WELCOME = `apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: shop-welcome, version: "1.0" }
spec:
  timeout: 1h
  steps:
    - { name: start, uses: mailer.send, timeout: 1m }
`

/** What the handlers of a test do, changed by the test while they run. */
export interface Shop {
  readonly petrel: Petrel
  /** Calls by type. */
  readonly calls: Map<string, number>
  bankIsDown: boolean
  doorIsOpen: boolean
  deploy(text: string): Promise<void>
  start(workflow: string, input?: unknown): Promise<string>
  /** Waits until the instance is in this state. */
  reach(id: string, state: string): Promise<void>
}

/** Deploys the definitions of a shop, and starts a worker for them in this process. */
export async function openShop(s: Serving): Promise<Shop> {
  const petrel = petrelOn(s.engine)
  const calls = new Map<string, number>()
  const shop: Shop = {
    petrel,
    calls,
    bankIsDown: true,
    doorIsOpen: false,
    async deploy(text) {
      const { status, text: reply } = await deploy(s, text)
      expect([status, reply]).toEqual([201, reply])
    },
    async start(workflow, input = {}) {
      const { status, body, text } = await s.post('/v1/instances', { workflow, input })
      expect([status, text]).toEqual([201, text])
      return body.id
    },
    async reach(id, state) {
      const read = async (): Promise<string> => (await s.get(`/v1/instances/${id}`)).body.instance.state
      expect(await until(read, (found) => found === state, 20_000)).toBe(state)
    },
  }
  addShopHandlers(shop)
  for (const text of [ORDER, REFUND, LEAVE, CHARGE, NIGHTLY]) await shop.deploy(text)
  await petrel.work({ concurrency: 20, pollMs: 50 })
  return shop
}

function addShopHandlers(shop: Shop): void {
  const handle = (type: string, handler: (args: any, ctx: Context) => unknown): void => {
    shop.petrel.handle(type, (args, ctx) => {
      shop.calls.set(type, (shop.calls.get(type) ?? 0) + 1)
      return handler(args, ctx)
    })
  }
  handle('shop.check', () => ({ ok: true }))
  handle('shop.pay', () => ({ paid: true }))
  handle('shop.ship', async (_, ctx) => {
    while (!shop.doorIsOpen) await sleep(20, undefined, { signal: ctx.signal })
    return { shipped: true }
  })
  handle('shop.look', () => ({ seen: true }))
  handle('shop.report', () => ({ reported: true }))
  handle('shop.refund', ({ amount }: { readonly amount: number }) => {
    if (amount > 100) throw new Terminal(`a refund of ${amount} is too much`, { code: 'too_much' })
    return { refunded: amount }
  })
  handle('shop.charge', ({ order }: { readonly order: number }) => {
    if (shop.bankIsDown) throw new Terminal(`the bank did not answer for order ${order}`, { code: 'bank_down' })
    return { charged: order }
  })
  handle('shop.mail.v1', () => {
    if (shop.bankIsDown) throw new Terminal('the mail server is away', { code: 'mail_down' })
    return { sent: true }
  })
}

function deploy(s: Serving, text: string): Promise<Reply> {
  return s.ask('POST', '/v1/definitions', { body: text, headers: { 'content-type': 'application/yaml' } })
}

/** The ids of what the pages about one thing show. */
export interface Content {
  /** Its steps are undone, slowly. */
  readonly instance: string
  /** It waits for a person. */
  readonly waiting: string
  readonly run: string
  readonly operation: string
  readonly group: string
  readonly gate: string
  readonly saga: string
  readonly webhook: string
  close(): Promise<void>
}

/** The examples of `petrel dev` and what they lack: a bulk operation, a webhook, a pause, a worker. */
export async function fill(s: Serving): Promise<Content> {
  const petrel = petrelOn(s.engine)
  const handlers = addExampleHandlers(new Handlers())
  for (const [type, handler] of handlers.entries()) petrel.handle(type, handler as never)
  await startExamples({ engine: s.engine } as Parameters<typeof startExamples>[0])
  await petrel.work({ concurrency: 5, pollMs: 50 })
  const first = async (path: string, list: string, of: (row: any) => boolean = () => true): Promise<any> => {
    const read = async () => ((await s.get(path)).body[list] as readonly any[]).find(of)
    const found = await until(read, (row) => row !== undefined, 20_000)
    expect(found, path).toBeDefined()
    return found
  }
  const undone = await first('/v1/instances?q=state:compensating', 'instances')
  const gate = await first('/v1/gates?state=open', 'gates')
  const group = await first('/v1/error-groups', 'groups', ({ code }) => code === 'card_declined')
  const run = await first('/v1/runs?q=type:demo.charge', 'runs', ({ status }) => status === 'failed')
  const saga = await first('/v1/sagas', 'sagas')
  const hook = { url: 'https://example.com/hooks', events: ['job.*'] }
  const webhook = await s.post('/ojs/v1/webhooks/subscriptions', hook)
  expect([webhook.status, webhook.text]).toEqual([201, webhook.text])
  await s.post('/v1/definitions/demo-article/pause', { reason: 'until the printer is repaired' })
  await s.ask('PUT', '/v1/registry/demo.translate.v1', { body: { runtime: 'python', description: 'Translates' } })
  const order = { action: 'redrive', target: 'runs', q: 'type:demo.ledger dead:true', reason: 'the ledger is free' }
  const operation = await s.post('/v1/operations', order)
  expect([operation.status, operation.text]).toEqual([operation.status, operation.text])
  return {
    instance: undone.id,
    waiting: gate.instance_id,
    run: run.id,
    operation: operation.body.operation.id,
    group: group.fingerprint,
    gate: gate.id,
    saga: saga.id,
    webhook: webhook.body.subscription.id,
    close: () => petrel.close({ graceMs: 0 }),
  }
}
