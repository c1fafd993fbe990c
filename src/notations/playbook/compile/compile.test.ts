import { describe, expect, it } from 'vitest'
import { newEvaluator } from '../../../expr/index.ts'
import { compileNet } from '../../../net/compile.ts'
import type { EachWork, Json, Net, Node, RunWork } from '../../../net/net.ts'
import { readInPlace } from '../../read.ts'
import type { Definition } from '../../source/definition.ts'
import type { Program } from '../runtime/program.ts'
import { playbookVocabulary } from '../vocabulary/index.ts'

const HEAD = 'apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: flow }\n'

const flow = (steps: string, more = ''): string => `${HEAD}${more}workflow:\n${steps.replace(/^(?=.)/gm, '  ')}\n`

const read = (steps: string, more = ''): Promise<Definition> => readInPlace('flow.yaml', flow(steps, more))

async function net(steps: string, more = ''): Promise<Net> {
  const { start } = await read(steps, more)
  // The compiled net is valid, including templates.
  compileNet(start.net, newEvaluator(playbookVocabulary))
  return start.net
}

async function node(key: string, steps: string, more = ''): Promise<Node> {
  return (await net(steps, more)).nodes.find((n) => n.key === key) as Node
}

const WORK = 'tool: { kind: shell, cmd: ls }'

describe('the net of a playbook', () => {
  it('has defaults', async () => {
    const { nodes, ...rest } = await net(`- { step: b, ${WORK} }`)
    expect(rest).toEqual({
      version: 1,
      name: 'flow',
      dialect: 'playbook',
      entry: ['b'],
      finals: [],
      onFailure: 'abort',
      verdict: { failedOn: 'unhandled', partial: false },
      unknown: 'ignore',
      timeoutMs: null,
      undoTimeoutMs: null,
      held: 'wait',
      noMatch: 'end',
      input: {},
      inlineBytes: 65_536,
      summary: true,
      tells: true,
    })
    expect(nodes).toEqual([
      {
        key: 'b',
        join: 'each',
        admit: null,
        retry: {
          maxAttempts: 5,
          backoff: 'constant',
          initialMs: 1000,
          coefficient: 1,
          maxMs: 1000,
          jitter: 0,
          nonRetryable: [],
          retryOn: null,
          deadLetter: false,
        },
        timeout: null,
        onFailure: 'route',
        undo: null,
        next: { mode: 'first', arcs: [], scope: null },
        work: {
          kind: 'run',
          type: 'playbook.step:tools=shell',
          queue: 'playbook',
          priority: 100,
          delayMs: 0,
          limitKey: null,
          args: { execution_id: '{{ execution_id }}', workload: {}, ctx: {}, steps: {}, args: '{{ args }}' },
          program: expect.objectContaining({ step: 'b', iterator: null, input: null, keychain: [] }),
        },
      },
    ])
  })

  it.each<readonly [string, string, Partial<Net>]>([
    ['entry_step', 'entry_step: b', { entry: ['b'] }],
    ['no_next_is_error', 'no_next_is_error: true', { noMatch: 'fail' }],
    ['timeout', 'timeout: 90', { timeoutMs: 90_000 }],
    ['failed_on: any', 'policy: { failed_on: any }', { verdict: { failedOn: 'any', partial: false } }],
    ['failed_on: fail_fast', 'policy: { failed_on: fail_fast }', { verdict: { failedOn: 'first', partial: false } }],
    ['partial', 'policy: { partial: true }', { verdict: { failedOn: 'unhandled', partial: true } }],
    ['pending: complete', 'policy: { pending: complete }', { held: 'complete' }],
    ['final_step', 'final_step: b', { finals: [{ node: 'b', when: 'always', onFailure: 'fail' }] }],
    [
      'final_step_failure: partial',
      'final_step: b, policy: { final_step_failure: partial }',
      { finals: [{ node: 'b', when: 'always', onFailure: 'partial' }] },
    ],
    ['max_payload_bytes', 'policy: { limits: { max_payload_bytes: 1000 } }', { inlineBytes: 1000 }],
  ])('%s', async (_, spec, expected) => {
    const steps = `- { step: a, ${WORK}, next: { arcs: [{ step: b, when: "{{ ctx.x }}" }] } }\n- { step: b, ${WORK}, next: { arcs: [{ step: a, when: "{{ ctx.y }}" }] } }`
    expect(await net(steps, `executor: { spec: { ${spec} } }\n`)).toMatchObject(expected)
  })

  it('has the workload as the defaults of its input', async () => {
    expect((await net(`- { step: a, ${WORK} }`, 'workload: { a: 1, b: { c: "{{ x }}" } }\n')).input).toEqual({
      a: 1,
      b: { c: '{{ x }}' },
    })
  })

  it('keeps the metadata', async () => {
    const head =
      'apiVersion: noetl.io/v10\nkind: Playbook\nmetadata: { name: tests/my flow, version: 2.1, path: a/b, description: d, tags: [t] }\n'
    const definition = await readInPlace('flow.yaml', `${head}workflow: [{ step: a, ${WORK} }]\n`)
    expect([definition.dialect, definition.name, definition.version]).toEqual(['playbook', 'tests/my flow', '2.1'])
    expect(definition.start.meta).toEqual({ version: '2.1', path: 'a/b', description: 'd', tags: ['t'] })
  })

  it('begins with the first step, whatever its name; start and end have no meaning', async () => {
    const { entry, nodes, finals } = await net(
      `- { step: end, ${WORK}, next: { arcs: [{ step: start }] } }\n- { step: start, ${WORK} }`,
    )
    expect([entry, finals, nodes.map((n) => n.key)]).toEqual([['end'], [], ['end', 'start']])
  })

  it('leaves out steps that no arc leads to', async () => {
    expect((await net(`- { step: a, ${WORK} }\n- { step: b, ${WORK} }`)).nodes.map((n) => n.key)).toEqual(['a'])
  })
})

describe('a step', () => {
  it('routes to the first or to all of its arcs, with their guards, args and sets', async () => {
    const arcs = `arcs: [{ step: b, when: "{{ ctx.x }}", args: { n: 1 } }, { step: b, set: { ctx.y: "{{ output.n }}" } }]`
    const steps = (spec: string): string => `- { step: a, ${WORK}, next: { ${spec} ${arcs} } }\n- { step: b, ${WORK} }`
    const expected = [
      { to: 'b', when: '{{ ctx.x }}', args: { n: 1 }, set: null },
      { to: 'b', when: null, args: null, set: { y: '{{ output.n }}' } },
    ]
    expect((await node('a', steps(''))).next).toEqual({ mode: 'first', scope: null, arcs: expected })
    expect((await node('a', steps('spec: { mode: exclusive },'))).next.mode).toBe('first')
    expect((await node('a', steps('spec: { mode: inclusive },'))).next).toMatchObject({ mode: 'every', arcs: expected })
  })

  it('a guard that is false is never taken', async () => {
    const steps = `- { step: a, ${WORK}, next: { arcs: [{ step: b, when: false }, { step: b, when: true }] } }\n- { step: b, ${WORK} }`
    expect((await node('a', steps)).next.arcs.map((a) => a.when)).toEqual(['false', null])
  })

  it('admits by its rules, and holds or discards denied tokens', async () => {
    const admit = (more: string): string =>
      `- { step: a, spec: { policy: { admit: { ${more} rules: [{ when: "{{ ctx.ok }}", then: { allow: true } }, { else: { then: { allow: false } } }] } } }, ${WORK} }`
    const rules = [
      { when: '{{ ctx.ok }}', allow: true },
      { when: null, allow: false },
    ]
    expect((await node('a', admit(''))).admit).toEqual({ rules, onDeny: 'hold' })
    expect((await node('a', admit('on_deny: discard,'))).admit).toEqual({ rules, onDeny: 'discard' })
  })

  it.each([
    ['its own', 'spec: { queue: heavy },', 'executor: { spec: { queue: all } }\n', 'heavy'],
    ['else the executor’s', '', 'executor: { spec: { queue: all } }\n', 'all'],
    ['else the one of all playbooks', '', '', 'playbook'],
  ])('waits in a queue: %s', async (_, spec, more, queue) => {
    expect((await node('a', `- { step: a, ${spec} ${WORK} }`, more)).work).toMatchObject({ queue })
  })

  it.each([
    ['timeout', 'timeout: 5'],
    ['lifecycle', 'policy: { lifecycle: { timeout_s: 5 } }'],
  ])('has one timeout: %s', async (_, spec) => {
    expect((await node('a', `- { step: a, spec: { ${spec} }, ${WORK} }`)).timeout).toEqual({ ms: 5000, per: 'node' })
  })

  it('that comes last has no arcs, and arcs to it lead to the end', async () => {
    const steps = `- { step: a, ${WORK}, next: { arcs: [{ step: z, when: "{{ ctx.x }}", set: { ctx.n: 1 } }, { step: b }] } }
- { step: b, ${WORK}, next: { arcs: [{ step: z }] } }
- { step: z, spec: { policy: { admit: { rules: [{ else: { then: { allow: false } } }] } } }, ${WORK}, next: { arcs: [{ step: a }] } }`
    const { nodes } = await net(steps, 'executor: { spec: { final_step: z, no_next_is_error: true } }\n')
    expect(nodes.map((n) => [n.key, n.work.kind, n.next.arcs.map((a) => a.to)])).toEqual([
      ['a', 'run', ['#end', 'b']],
      ['b', 'run', ['#end']],
      ['z', 'run', []],
      ['#end', 'pass', []],
    ])
    expect(nodes[0]?.next.arcs[0]).toMatchObject({ when: '{{ ctx.x }}', set: { n: 1 } })
    expect(nodes[2]?.admit).toBeNull()
  })
})

describe('the program of a run', () => {
  const given = async (tool: string, more = ''): Promise<Json> => {
    const steps = `- { step: fetch, ${WORK}, next: { arcs: [{ step: a }] } }\n- step: a\n${more}  tool: ${tool}`
    const { work } = await node('a', steps, 'workload: { url: x, all: y }\n')
    return ((work.kind === 'each' ? work.shared : (work as RunWork).args) ?? null) as Json
  }
  const part = (workload: Json, ctx: Json, steps: Json): Json => ({
    execution_id: '{{ execution_id }}',
    workload,
    ctx,
    steps,
    args: '{{ args }}',
  })

  it.each<readonly [string, string, string, Json]>([
    [
      'nothing it does not name',
      '{ kind: shell, cmd: "echo {{ args.x }} {{ execution_id }} {{ _prev }}" }',
      '',
      part({}, {}, {}),
    ],
    [
      'keys of the workload and of the context',
      '{ kind: shell, cmd: "{{ workload.url }} {{ ctx.token.x }} {{ workload[\'odd-key\'] }}" }',
      '',
      part(
        '{{ given({"odd-key": workload["odd-key"], "url": workload["url"]}) }}',
        '{{ given({"token": ctx["token"]}) }}',
        {},
      ),
    ],
    [
      'bare names of either',
      '{ kind: shell, cmd: "{{ url }}" }',
      '',
      part('{{ given({"url": workload["url"]}) }}', '{{ given({"url": ctx["url"]}) }}', {}),
    ],
    [
      'results of steps',
      '{ kind: shell, cmd: "{{ fetch.rows[0].id }}" }',
      '',
      part({}, {}, '{{ given({"fetch": fetch}) }}'),
    ],
    [
      'the workload whole',
      '{ kind: shell, cmd: "{{ workload | tojson }} {{ workload.url }}" }',
      '',
      part('{{ workload }}', {}, {}),
    ],
    [
      'the whole context, and the workload below it',
      '{ kind: shell, cmd: "{{ ctx }}" }',
      '',
      part('{{ workload }}', '{{ ctx }}', {}),
    ],
    [
      'all for code that names the context',
      '{ kind: python, code: "result = context.get(1)" }',
      '',
      part('{{ workload }}', '{{ ctx }}', '{{ given({"a": a, "fetch": fetch}) }}'),
    ],
    [
      'all for packed code that names it',
      `{ kind: python, code_b64: ${Buffer.from('result = context').toString('base64')} }`,
      '',
      part('{{ workload }}', '{{ ctx }}', '{{ given({"a": a, "fetch": fetch}) }}'),
    ],
    ['nothing for code that does not', '{ kind: python, code: "result = contexts" }', '', part({}, {}, {})],
    [
      'names in the step’s input, rules and sets',
      `{ kind: shell, cmd: ls, input: { a: "{{ workload.a }}" }, set: { ctx.x: "{{ ctx.b }}" }, spec: { policy: { rules: [{ when: "{{ ctx.c }}", then: { do: retry, delay: "{{ workload.d }}", set_ctx: { e: "{{ fetch.e }}" } } }] } } }`,
      '  input: { f: "{{ workload.f }}" }\n',
      part(
        '{{ given({"a": workload["a"], "d": workload["d"], "f": workload["f"]}) }}',
        '{{ given({"b": ctx["b"], "c": ctx["c"]}) }}',
        '{{ given({"fetch": fetch}) }}',
      ),
    ],
    [
      'not names that only the engine reads',
      '{ kind: shell, cmd: ls }',
      '  set: { ctx.x: "{{ workload.x }}" }\n  next: { arcs: [{ step: fetch, when: "{{ workload.y }}" }] }\n',
      part({}, {}, {}),
    ],
    [
      'in a loop, once for all items: not values that depend on the item',
      '{ kind: shell, cmd: "{{ iter.row }} {{ row.id }} {{ workload.url }} {{ loop.index }}" }',
      '  loop: { in: "{{ workload.all }}", iterator: row }\n',
      part('{{ given({"url": workload["url"]}) }}', {}, {}),
    ],
  ])('%s', async (_, tool, more, expected) => {
    expect(await given(tool, more)).toEqual(expected)
  })

  it('in a loop, the item, its index and their number', async () => {
    const steps =
      '- step: a\n  loop: { in: "{{ workload.all }}", iterator: row }\n  tool: { kind: shell, cmd: "{{ row }}" }'
    const { body } = (await node('a', steps)).work as EachWork
    expect(body).toMatchObject({
      kind: 'run',
      args: { item: { value: '{{ iter.row }}', index: '{{ iter.index }}', total: '{{ loop.length }}' } },
      program: { step: 'a', iterator: 'row' },
    })
  })

  it('of the keychain, the entries its tasks name; a plain name as auth is one', async () => {
    const keychain = `keychain:
  - { name: api, kind: env, ref: API_TOKEN }
  - { name: db, kind: env, map: { password: DB_PASSWORD } }
  - { name: unused, kind: file, path: secrets.yaml }
  - { name: keys, kind: file, path: keys.json }
`
    const steps = `- step: a
  tool:
    - { name: one, kind: http, url: "http://x/", headers: { a: "{{ keychain.api }}" }, input: { k: "{{ keychain.keys.a }}" } }
    - { name: two, kind: postgres, auth: db, query: select 1 }
    - { name: three, kind: postgres, auth: other, query: select 1 }`
    const { work } = await node('a', steps, keychain)
    const program = (work as RunWork).program as unknown as Program
    expect(program.keychain).toEqual([
      { name: 'api', kind: 'env', map: null, ref: 'API_TOKEN' },
      { name: 'db', kind: 'env', map: { password: 'DB_PASSWORD' }, ref: null },
      { name: 'keys', kind: 'file', map: null, ref: 'keys.json' },
    ])
    expect(program.tasks.map((t) => t.config['auth'])).toEqual([undefined, '{{ keychain.db }}', 'other'])
  })
})

describe('a large playbook', () => {
  /** Forks everywhere, every tenth step joins, and every join can be bypassed. */
  const large = (steps: number): string => {
    const list = Array.from({ length: steps }, (_, i) => {
      const arcs = [i + 1, i + 2]
        .filter((n) => n < steps)
        .map((n) => `{ step: s${n}, when: "{{ ctx.c${n} and event.name == 'step.done' }}" }`)
      return `- step: s${i}
  input: { n: "{{ workload.n + ${i} }}"${i === 0 ? '' : `, before: "{{ s${i - 1}.out }}"`} }
  spec: { ${i % 10 === 9 ? 'join: all' : ''} }
  tool:
    - { name: one, kind: shell, cmd: "echo {{ ctx.c${i} }}", spec: { policy: { rules: [{ else: { then: { do: continue } } }] } } }
    - { name: two, kind: noop }
  next: { spec: { mode: inclusive }, arcs: [${arcs.join(', ')}] }`
    })
    return flow(list.join('\n'), 'workload: { n: 1 }\n')
  }

  /** The processor time of this process, whatever else runs on the machine. */
  const cost = async (steps: number): Promise<number> => {
    const before = process.cpuUsage()
    const { start } = await readInPlace('large.yaml', large(steps))
    const { user, system } = process.cpuUsage(before)
    expect(start.net.nodes).toHaveLength(steps)
    return (user + system) / 1000
  }

  it('of 2,000 steps costs about eight times what one of 250 does', async () => {
    await cost(250)
    const [small, big] = [await cost(250), await cost(2000)]
    expect(big / small).toBeLessThan(8 * 3)
    expect(big).toBeLessThan(15_000)
  }, 60_000)
})
