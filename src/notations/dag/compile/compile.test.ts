import { describe, expect, it } from 'vitest'
import type { Node } from '../../../net/net.ts'
import { readInPlace } from '../../read.ts'
import type { Definition } from '../../source/definition.ts'

const HEAD = 'apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: flow }\n'

const read = (spec: string, head = HEAD): Promise<Definition> => readInPlace('flow.yaml', `${head}spec:\n${spec}`)

async function node(key: string, spec: string): Promise<Node> {
  const { start } = await read(spec)
  return start.net.nodes.find((n) => n.key === key) as Node
}

describe('dependsOn', () => {
  it('makes arcs, joins by count if there are several, and every step without it begins', async () => {
    const { start, dialect, name } = await read(`  steps:
    - { name: step-d, dependsOn: [step-b, step-c] }
    - { name: step-b, dependsOn: [step-a] }
    - { name: step-c, dependsOn: [step-a] }
    - { name: step-a }
    - { name: alone }
`)
    expect([dialect, name, start.net.name, start.net.dialect]).toEqual(['dag', 'flow', 'flow', 'dag'])
    expect(start.net.entry).toEqual(['step-a', 'alone'])
    expect(start.net.nodes.map((n) => [n.key, n.join, n.next.arcs.map((a) => a.to)])).toEqual([
      ['step-d', 'count', []],
      ['step-b', 'each', ['step-d']],
      ['step-c', 'each', ['step-d']],
      ['step-a', 'each', ['step-b', 'step-c']],
      ['alone', 'each', []],
    ])
  })
})

describe('the work of a step', () => {
  it.each([
    ['uses', 'uses: order.validate.v1, agent: checker', 'order.validate.v1'],
    ['else agent', 'agent: checker', 'checker'],
    ['else its name', 'action: check it', 'check'],
  ])('is the type %s', async (_, fields, type) => {
    expect((await node('check', `  steps: [{ name: check, ${fields} }]\n`)).work).toMatchObject({ kind: 'run', type })
  })

  it.each([
    ['its own', 'queue: slow, uses: order.check.v1, agent: checker', 'slow'],
    ['else of the name of its type: uses', 'uses: order.check.v1, agent: checker', 'order.check.v1'],
    ['else agent', 'agent: checker', 'checker'],
    ['else its name', 'action: check it', 'check'],
  ])('waits in a queue %s', async (_, fields, queue) => {
    expect((await node('check', `  steps: [{ name: check, ${fields} }]\n`)).work).toMatchObject({ queue })
  })

  it('receives agent, action, the input, the results of its dependencies and its `with`', async () => {
    const spec = `  steps:
    - name: fetch-all
    - { name: b }
    - name: report
      agent: writer
      action: Report on {{ input.topic }}
      dependsOn: [fetch-all, b]
      with: { first: "{{ results['fetch-all'].rows[0] }}", limit: 3 }
`
    expect((await node('report', spec)).work).toMatchObject({
      args: {
        agent: 'writer',
        action: 'Report on {{ input.topic }}',
        input: '{{ input }}',
        results: { 'fetch-all': "{{ results['fetch-all'] }}", b: "{{ results['b'] }}" },
        with: { first: "{{ results['fetch-all'].rows[0] }}", limit: 3 },
      },
    })
    expect((await node('b', spec)).work).toMatchObject({
      args: { agent: null, action: null, input: '{{ input }}', results: {} },
    })
  })
})

describe('retryPolicy', () => {
  const retryOf = async (policy: string) =>
    (await node('a', `  steps:\n    - name: a\n${policy === '' ? '' : `      retryPolicy: ${policy}\n`}`)).retry

  it('defaults to 3 retries, exponential from 1 s to 60 s, of transient and external errors', async () => {
    expect(await retryOf('')).toEqual({
      maxAttempts: 4,
      backoff: 'exponential',
      initialMs: 1000,
      coefficient: 2,
      maxMs: 60_000,
      jitter: 0,
      nonRetryable: [],
      retryOn: ['transient', 'external'],
      deadLetter: false,
    })
  })

  it('counts retries: maxRetries n is n + 1 executions', async () => {
    expect(await retryOf('{ maxRetries: 0 }')).toMatchObject({ maxAttempts: 1 })
    expect(await retryOf('{ maxRetries: 5 }')).toMatchObject({ maxAttempts: 6 })
  })

  it('reads strategy, delays as texts, and categories', async () => {
    expect(await retryOf('{ backoff: linear, initialDelay: "5s", maxDelay: 2m, retryOn: [agent] }')).toMatchObject({
      backoff: 'linear',
      initialMs: 5000,
      maxMs: 120_000,
      retryOn: ['agent'],
    })
  })

  it('takes a duration given as backoff as a constant delay of any length', async () => {
    expect(await retryOf('{ maxRetries: 2, backoff: 30s }')).toMatchObject({
      maxAttempts: 3,
      backoff: 'constant',
      initialMs: 30_000,
      maxMs: 60_000,
    })
    expect(await retryOf('{ backoff: 5m }')).toMatchObject({ backoff: 'constant', initialMs: 300_000, maxMs: 300_000 })
  })
})

describe('timeouts', () => {
  it('cover all attempts of a step, and the whole workflow', async () => {
    const { start } = await read('  timeout: 30m\n  steps: [{ name: a, timeout: "5m" }, { name: b }]\n')
    expect(start.net.timeoutMs).toBe(1_800_000)
    expect(start.net.nodes.map((n) => n.timeout)).toEqual([{ ms: 300_000, per: 'node' }, null])
  })
})

describe('onFailure and failurePolicy', () => {
  it("are a step's own setting, else the workflow's, else abort", async () => {
    const steps = '  steps: [{ name: a, onFailure: skip }, { name: b, onFailure: compensate }, { name: c }]\n'
    const plain = (await read(steps)).start.net
    expect(plain.nodes.map((n) => n.onFailure)).toEqual(['skip', 'compensate', 'net'])
    expect(plain.onFailure).toBe('abort')
    expect((await read(`  failurePolicy: compensate\n${steps}`)).start.net.onFailure).toBe('compensate')
    expect((await read(`  failurePolicy: abort\n${steps}`)).start.net.onFailure).toBe('abort')
    expect((await read(`  failurePolicy: retry\n${steps}`)).start.net.onFailure).toBe('retry')
  })
})

describe('compensation', () => {
  it('is the undo of its step: by its own agent, with the input and the result of the step', async () => {
    const { undo } = await node(
      'create',
      `  steps:
    - name: ask
    - { name: create, agent: maker, action: Create it, dependsOn: [ask], with: { size: 3 } }
  compensation:
    - step: create
      action: Delete {{ results.create.id }}
      agent: breaker
      timeout: 1m
      retryPolicy: { maxRetries: 9 }
`,
    )
    expect(undo).toMatchObject({
      work: {
        type: 'breaker',
        queue: 'breaker',
        args: {
          agent: 'breaker',
          action: 'Delete {{ results.create.id }}',
          input: '{{ input }}',
          step: { name: 'create', input: null, result: "{{ results['create'] }}" },
        },
      },
      given: ['step', 'input'],
      retry: { maxAttempts: 10 },
      timeout: { ms: 60_000, per: 'node' },
    })
  })

  it('runs `uses` if given; steps without an entry have no undo', async () => {
    const spec = '  steps: [{ name: a }, { name: b }]\n  compensation: [{ step: a, uses: a.undo.v1 }]\n'
    expect((await node('a', spec)).undo?.work.type).toBe('a.undo.v1')
    expect((await node('b', spec)).undo).toBeNull()
  })
})

describe('approvals', () => {
  it('are gates, with their options, deadline and default decision', async () => {
    const gate = await node(
      'sign-off',
      `  steps:
    - name: sign-off
      agent: legal
      action: Sign the contract
      onFailure: compensate
      approval:
        form: { type: object, required: [amount] }
        roles: [manager]
        quorum: 2
        of: [ada, bob, cy]
        excludeInitiator: true
        deadline: 2d
        onTimeout: approve
        escalate: [{ after: 4h, roles: [director] }]
`,
    )
    expect(gate.work).toEqual({
      kind: 'gate',
      options: {
        title: 'Sign the contract',
        agent: 'legal',
        form: { type: 'object', required: ['amount'] },
        roles: ['manager'],
        quorum: 2,
        of: ['ada', 'bob', 'cy'],
        excludeInitiator: true,
        escalate: [{ after: 14_400_000, roles: ['director'] }],
      },
      timeoutMs: 172_800_000,
      onTimeout: 'approve',
    })
    expect([gate.retry, gate.timeout, gate.onFailure]).toEqual([null, null, 'compensate'])
  })

  it.each([
    ['a plain yes', 'approval: true, action: Ship?', { title: 'Ship?' }, null],
    ['a title', 'approval: Ship it?, timeout: 1h', { title: 'Ship it?' }, 3_600_000],
    [
      'the convention',
      "action: 'GATE: ship it', timeout: 24h, agent: boss",
      { title: 'ship it', agent: 'boss' },
      86_400_000,
    ],
    [
      'the earlier of deadline and timeout',
      'approval: { title: x, deadline: 2h }, timeout: 1h',
      { title: 'x' },
      3_600_000,
    ],
  ])('%s', async (_, fields, options, timeoutMs) => {
    const { work } = await node('a', `  steps: [{ name: a, ${fields} }]\n`)
    expect(work).toEqual({ kind: 'gate', options, timeoutMs, onTimeout: 'reject' })
  })

  it('an action that begins with GATE: is not a gate if approval is false', async () => {
    expect((await node('a', "  steps: [{ name: a, approval: false, action: 'GATE: x' }]\n")).work.kind).toBe('run')
  })
})

describe('nested workflows', () => {
  it('are children with the input, or with `with`, and the shorter of both timeouts', async () => {
    const { start } = await read(`  steps:
    - { name: one, workflow: ship, timeout: 10m }
    - { name: two, workflow: ship, dependsOn: [one], with: { parcel: '{{ input.parcel }}' } }
    - { name: three, dependsOn: [one, two] }
  workflows:
    ship:
      timeout: 1h
      steps: [{ name: pack }, { name: send, dependsOn: [pack] }]
`)
    const [one, two, three] = start.net.nodes.map((n) => n.work)
    expect(one).toMatchObject({ kind: 'child', mode: 'attached', input: '{{ input }}' })
    expect(two).toMatchObject({ kind: 'child', input: { parcel: '{{ input.parcel }}' } })
    expect(three).toMatchObject({ args: { results: { one: "{{ results['one'] }}", two: "{{ results['two'] }}" } } })
    expect(start.nets?.map((n) => [n.name, n.timeoutMs])).toEqual([
      ['ship', 600_000],
      ['ship', 3_600_000],
    ])
  })
})

describe('the head', () => {
  it('is kept: version, owner, labels, description, and triggers', async () => {
    const definition = await read(
      `  description: All of it
  maxConcurrent: 3
  domainsInvolved: [growth, data]
  trigger: { event: customer.signed, condition: payload.risk >= 0.7, schedule: 0 9 * * mon, timezone: Europe/Berlin }
  steps: [{ name: a }]
`,
      `apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: flow, version: 1.2, owner: { name: ada, role: lead }, labels: { tier: core }, annotations: { a: b } }
status: { state: idle }
`,
    )
    expect([definition.version, definition.start.slots]).toEqual(['1.2', 3])
    expect(definition.trigger).toEqual({
      event: 'customer.signed',
      condition: 'payload.risk >= 0.7',
      schedule: '0 9 * * mon',
      timezone: 'Europe/Berlin',
    })
    expect(definition.start.meta).toEqual({
      version: '1.2',
      owner: { name: 'ada', role: 'lead' },
      labels: { tier: 'core' },
      annotations: { a: 'b' },
      description: 'All of it',
      domainsInvolved: ['growth', 'data'],
    })
  })
})
