/** Texts that a browser could take for more than text, in every field that a client can set. */
import { expect } from 'vitest'
import type { Reply, Serving } from '../server/serving.ts'

/** A script, elements with handlers, an override of the direction of writing, and words that mean nothing to a program. */
export const HOSTILE =
  '<script>alert(1)</script>"><img src=x onerror=alert(2)><svg onload=alert(3)></bdi></code>' +
  "\u202e\u200fjavascript:alert(4)\u2067 ' null undefined NaN [object Object] %00 &lt;b&gt; \\u0000"
/** Begins like it, so that it is recognised on a page. */
const MARK = '<img src=x onerror='
const LENGTHS = [10_000, 1_000, 255, 200, 64, 40] as const

/** The text in this length: its end has no space at which a line could break. */
function textOf(length: number): string {
  const text = HOSTILE.slice(HOSTILE.indexOf('">'))
  return length <= text.length
    ? `${MARK}${'y'.repeat(length)}`.slice(0, length)
    : text + 'x'.repeat(length - text.length)
}

/** Sends the longest of the texts that the server accepts. */
async function longest(send: (text: string) => Promise<Reply>): Promise<{ readonly text: string; readonly body: any }> {
  let refused: Reply | null = null
  for (const length of LENGTHS) {
    const text = textOf(length)
    const reply = await send(text)
    if (reply.status < 300) return { text, body: reply.body }
    refused = reply
  }
  throw new Error(`no length is accepted: ${refused?.status} ${refused?.text.slice(0, 500)}`)
}

const LONG = textOf(10_000)
const TAG = textOf(200)
const AGENT = { 'x-petrel-actor': 'ann <img src=x onerror=alert(5)>' }

export interface Hostile {
  readonly definition: string
  /** Has failed. */
  readonly instance: string
  readonly waiting: string
  readonly run: string
  readonly job: string
  readonly gate: string
  readonly operation: string
  readonly webhook: string
  readonly saga: string
}

/** A workflow that has failed at its step and waits at its gate, and one of everything else. */
export async function addHostile(s: Serving): Promise<Hostile> {
  const definition = (await longest((name) => deploy(s, netOf(name)))).text
  const instance = await started(s, definition, textOf(200))
  const run = await failed(s)
  const waiting = await started(s, definition, textOf(199))
  const { body } = await s.get('/v1/gates')
  const job = (await longest((text) => s.post('/ojs/v1/jobs', jobOf('q'.repeat(text.length))))).body.job.id as string
  await submitted(s)
  const operation = (
    await longest((reason) =>
      s.post('/v1/operations', { action: 'cancel', target: 'runs', q: `tag:${JSON.stringify(TAG)}`, reason }, AGENT),
    )
  ).body
  const webhook = await longest((text) =>
    s.post('/ojs/v1/webhooks/subscriptions', {
      url: `https://example.com/${encodeURIComponent(text.slice(0, 500))}?${'x'.repeat(text.length / 10)}`,
      events: ['job.*'],
    }),
  )
  await longest((text) => s.post('/v1/keys', { subject: text, scopes: ['read'], roles: [text.slice(0, 60)] }))
  return {
    definition,
    instance,
    waiting,
    run,
    job,
    gate: body.gates.find(({ node }: { readonly node: string }) => node === 'ask')?.id,
    operation: operation.operation?.id ?? operation.id,
    webhook: webhook.body.subscription?.id ?? webhook.body.id,
    saga: await startedSaga(s),
  }
}

async function started(s: Serving, workflow: string, startKey: string): Promise<string> {
  const { status, text, body } = await s.post(
    '/v1/instances',
    {
      workflow,
      input: { [LONG]: LONG, html: HOSTILE, list: [LONG, HOSTILE] },
      meta: { [TAG]: LONG },
      tags: [TAG],
      start_key: startKey,
      correlation_id: textOf(200),
    },
    AGENT,
  )
  expect(status, text.slice(0, 500)).toBe(201)
  return body.id as string
}

function deploy(s: Serving, definition: unknown): Promise<Reply> {
  return s.ask('POST', '/v1/definitions', {
    body: JSON.stringify(definition),
    headers: { 'content-type': 'application/yaml', ...AGENT },
  })
}

const STEP = textOf(64)

function netOf(name: string): unknown {
  const form = {
    type: 'object',
    properties: {
      [TAG]: { type: 'string', title: LONG, description: LONG },
      chosen: { type: 'string', title: HOSTILE, enum: [LONG, HOSTILE] },
      list: { type: 'array', title: HOSTILE, items: { type: 'string' } },
    },
  }
  return {
    kind: 'Net',
    version: 1,
    name,
    nodes: {
      [STEP]: { run: 'hostile.step', args: { [LONG]: LONG } },
      ask: { gate: { title: LONG, options: { description: LONG, form } } },
      others: { gate: { title: HOSTILE, options: { description: LONG, roles: [TAG] } } },
    },
  }
}

/** Takes the step, logs and fails; the id of its run. */
async function failed(s: Serving): Promise<string> {
  const claim = await longest((worker) => s.post('/v1/runs/claim', { worker_id: worker, types: ['hostile.step'] }))
  const { id, epoch } = claim.body.runs[0]
  const by = { worker_id: claim.text, epoch }
  const log = await s.post(`/v1/runs/${id}/log`, {
    ...by,
    lines: [{ level: 'warn', text: LONG, fields: { [LONG]: HOSTILE } }],
  })
  expect(log.status, log.text.slice(0, 500)).toBeLessThan(300)
  await longest((code) =>
    s.post(`/v1/runs/${id}/fail`, {
      ...by,
      retryable: false,
      error: { message: LONG, code, details: { [LONG]: LONG } },
    }),
  )
  return id as string
}

function jobOf(queue: string): unknown {
  return { type: 'hostile.job', args: [HOSTILE, LONG], meta: { [TAG]: LONG }, options: { queue, tags: [TAG] } }
}

async function submitted(s: Serving): Promise<void> {
  await longest((key) =>
    s.post('/v1/runs', { type: 'hostile.run.v1', payload: { [LONG]: HOSTILE }, idempotency_key: key }, AGENT),
  )
  await longest((queue) => s.post('/v1/runs', { type: 'hostile.run.v1', payload: {}, queue }))
  const schedule = { type: 'hostile.run.v1', payload: { [LONG]: HOSTILE }, schedule: '0 6 * * *' }
  expect((await s.post('/v1/schedules', schedule, AGENT)).status).toBe(201)
}

async function startedSaga(s: Serving): Promise<string> {
  const steps = [
    { name: 'save', command: { subject: 'refdata.v1.parties.save', body: { name: '{{ request.party }}' } } },
  ]
  const saga = {
    apiVersion: 'petrel.dev/v1',
    kind: 'Saga',
    metadata: { name: 'hostile-saga', version: 1 },
    spec: { steps },
  }
  const deployed = await deploy(s, saga)
  expect(deployed.status, deployed.text.slice(0, 500)).toBe(201)
  const { body } = await s.post(
    '/v1/instances',
    { workflow: 'hostile-saga', input: { party: LONG, [LONG]: HOSTILE } },
    AGENT,
  )
  return body.id as string
}
