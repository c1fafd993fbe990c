import { describe, expect, it } from 'vitest'
import { flow, mistakes, read } from '../../../../test/playbook/reading.ts'
import { compileExpression, evaluate } from '../../../expr/index.ts'
import type { EachWork, Node, RunWork } from '../../../net/net.ts'
import type { Program } from '../runtime/program.ts'

async function node(text: string, key: string): Promise<Node> {
  return (await read(text)).start.net.nodes.find((n) => n.key === key) as Node
}

async function program(text: string, key: string): Promise<Program> {
  const { work } = await node(text, key)
  const run = (work.kind === 'each' ? work.body : work) as RunWork
  return run.program as unknown as Program
}

describe('both spellings', () => {
  const classic = `- step: fetch
  args: { id: "{{ workload.id }}" }
  tool:
    - name: get
      kind: http
      url: "{{ workload.url }}"
      args: { q: "{{ args.id }}" }
      spec:
        policy:
          rules:
            - when: "{{ outcome.status == 'error' }}"
              then: { do: retry, attempts: 5, backoff: linear, delay: 2, set_ctx: { tried: true }, set_iter: { n: 1 } }
            - else: { then: { do: continue, set_ctx: { got: "{{ outcome.result.n }}" } } }
  set_ctx: { done: "{{ outcome.result }}" }
  next:
    arcs:
      - { step: end, when: "{{ event.name == 'step.done' }}", args: { n: "{{ ctx.got }}" }, set_ctx: { last: 1 } }
- { step: end, tool: { kind: noop } }`
  const renamed = classic
    .replace('  args: { id', '  input: { id')
    .replace('      args: { q', '      input: { q')
    .replace('set_ctx: { tried: true }, set_iter: { n: 1 }', 'set: { ctx.tried: true, iter.n: 1 }')
    .replace('set_ctx: { got:', 'set: { ctx.got:')
    .replace('set_ctx: { done:', 'set: { ctx.done:')
    .replace('set_ctx: { last:', 'set: { ctx.last:')

  it('give the same net, without a warning', async () => {
    const [one, other] = [await read(flow(classic)), await read(flow(renamed))]
    expect(renamed).not.toContain('set_')
    expect(other.start.net).toEqual(one.start.net)
    expect([one.warnings, other.warnings]).toEqual([[], []])
  })

  it('compile to this program', async () => {
    expect(await program(flow(classic), 'fetch')).toEqual({
      step: 'fetch',
      iterator: null,
      input: { id: '{{ workload.id }}' },
      keychain: [],
      tasks: [
        {
          label: 'get',
          kind: 'http',
          config: { url: '{{ workload.url }}' },
          input: { q: '{{ args.id }}' },
          onUnmatched: 'fail',
          set: null,
          timeoutMs: null,
          line: 8,
          rules: [
            {
              when: "{{ outcome.status == 'error' }}",
              do: 'retry',
              attempts: 5,
              backoff: 'linear',
              delayS: 2,
              to: null,
              set: { 'ctx.tried': true, 'iter.n': 1 },
              line: 15,
            },
            {
              when: null,
              do: 'continue',
              attempts: 3,
              backoff: 'none',
              delayS: 1,
              to: null,
              set: { 'ctx.got': '{{ outcome.result.n }}' },
              line: 17,
            },
          ],
        },
      ],
    })
    const { set, next } = await node(flow(classic), 'fetch')
    expect(set).toEqual({ done: '{{ outcome.result }}' })
    expect(next.arcs).toEqual([
      {
        to: 'end',
        when: "{{ event.name == 'step.done' }}",
        args: { n: '{{ ctx.got }}' },
        set: { last: 1 },
      },
    ])
  })

  it('cannot be mixed in one place', async () => {
    const text = flow('- { step: a, input: { x: 1 }, args: { x: 2 }, tool: { kind: noop } }')
    expect(await mistakes(text)).toEqual([
      "5:39 workflow[0].args: 'input' and 'args' are two names of the same field (keep one of the two)",
    ])
  })
})

describe('tasks', () => {
  const labels = async (tool: string): Promise<readonly string[]> => {
    return (await program(flow(`- step: a\n  tool: ${tool}`), 'a')).tasks.map((t) => `${t.label}: ${t.kind}`)
  }

  it.each([
    ['one task without a name is called after its step', '{ kind: shell, cmd: ls }', ['a_task: shell']],
    ['one task keeps its name', '{ name: list, kind: shell, cmd: ls }', ['list: shell']],
    ['a list', '[{ name: one, kind: shell, cmd: ls }, { name: two, kind: noop }]', ['one: shell', 'two: noop']],
    [
      'tasks of a list without names are numbered from 0',
      '[{ kind: shell, cmd: ls }, { kind: noop }]',
      ['task_0: shell', 'task_1: noop'],
    ],
    ['labels as keys', '[{ one: { kind: shell, cmd: ls } }, { two: { kind: noop } }]', ['one: shell', 'two: noop']],
    [
      'all of it at once',
      '[{ one: { kind: shell, cmd: ls } }, { kind: noop }, { name: x, kind: noop }]',
      ['one: shell', 'task_1: noop', 'x: noop'],
    ],
  ])('%s', async (_, tool, expected) => {
    expect(await labels(tool)).toEqual(expected)
  })

  it('accept fields, input and timeout in spec; the policy stays the task’s', async () => {
    const tool =
      '{ kind: http, spec: { url: "http://x/", method: POST, input: { a: 1 }, timeout: { connect: 2, read: 3 }, policy: { on_unmatched: continue } } }'
    const [task] = (await program(flow(`- step: a\n  tool: ${tool}`), 'a')).tasks
    expect(task).toMatchObject({
      config: { url: 'http://x/', method: 'POST' },
      input: { a: 1 },
      timeoutMs: 5000,
      onUnmatched: 'continue',
      rules: [],
    })
  })

  it.each([
    ['seconds', '30', 30_000],
    ['a text with its unit', '500ms', 500],
    ['parts of a second', '0.5', 500],
  ])('have a timeout in %s', async (_, timeout, ms) => {
    const [task] = (
      await program(flow(`- step: a\n  tool: { kind: shell, cmd: ls, spec: { timeout: ${timeout} } }`), 'a')
    ).tasks
    expect(task?.timeoutMs).toBe(ms)
  })
})

describe('the workbook', () => {
  const STEP = '- { step: a, tool: { kind: workbook, name: score, args: { b: 3 } } }'
  const TASK = 'kind: python, input: { a: 1, b: 2 }, code: "result = a + b"'

  it.each([
    ['a list of tasks', `workbook:\n  - { name: score, tool: { ${TASK} } }\n`, []],
    ['a list of bare tools', `workbook:\n  - { name: score, ${TASK} }\n`, []],
    ['a map under tasks', `workbook:\n  tasks: { score: { ${TASK} } }\n`, []],
    ['a list under tasks', `workbook:\n  tasks: [{ name: score, tool: { ${TASK} } }]\n`, []],
    ['a bare map', `workbook:\n  score: { ${TASK} }\n`, [7]],
  ])('is %s; the step’s input overrides the task’s', async (_, workbook, lines) => {
    const text = flow(STEP, workbook)
    const [task] = (await program(text, 'a')).tasks
    expect(task).toMatchObject({
      label: 'score',
      kind: 'python',
      input: { a: 1, b: 3 },
      config: { code: 'result = a + b' },
    })
    expect((await read(text)).warnings?.map((w) => w.line)).toEqual(lines)
  })

  it('is named by task, where the name is the label; rules and set of the step override it', async () => {
    const steps = `- step: a
  tool:
    - { name: first, kind: workbook, task: score, set: { ctx.n: "{{ output }}" } }
    - { name: second, kind: workbook, task: score, spec: { policy: { rules: [{ else: { then: { do: break } } }] } } }`
    const workbook = `workbook: [{ name: score, ${TASK}, spec: { policy: { rules: [{ else: { then: { do: fail } } }] } } }]\n`
    const { tasks } = await program(flow(steps, workbook), 'a')
    expect(tasks.map((t) => [t.label, t.rules.map((r) => r.do), t.set])).toEqual([
      ['first', ['fail'], { 'ctx.n': '{{ output }}' }],
      ['second', ['break'], null],
    ])
  })
})

describe('steps without work', () => {
  it.each([
    ['no tool', '- { step: a, next: { arcs: [{ step: b }] } }'],
    ['an empty tool', '- { step: a, tool: [], next: { arcs: [{ step: b }] } }'],
    ['a lone noop', '- { step: a, tool: { kind: noop }, next: { arcs: [{ step: b }] } }'],
    [
      'a lone noop with a set of the step',
      '- { step: a, tool: [{ name: x, kind: noop }], set: { ctx.n: 1 }, next: { arcs: [{ step: b }] } }',
    ],
  ])('only route: %s', async (_, step) => {
    const { work } = await node(flow(`${step}\n- { step: b, tool: { kind: noop } }`), 'a')
    expect(work).toEqual({ kind: 'pass' })
  })

  it.each([
    ['rules', 'spec: { policy: { rules: [{ else: { then: { do: continue } } }] } }'],
    ['a set', 'set: { ctx.n: 1 }'],
    ['an input', 'input: { n: 1 }'],
    ['a result', 'result: 1'],
  ])('are runs if the noop has %s', async (_, field) => {
    expect((await node(flow(`- { step: a, tool: { kind: noop, ${field} } }`), 'a')).work.kind).toBe('run')
  })

  it('are runs in a cycle of such steps, which would spin in the engine', async () => {
    const text = flow(`- step: count
  set: { ctx.n: "{{ (ctx.n | default(0)) + 1 }}" }
  next: { arcs: [{ step: check }] }
- step: check
  tool: { kind: noop }
  next: { arcs: [{ step: count, when: "{{ ctx.n < 3 }}" }, { step: end }] }
- { step: end, tool: { kind: noop } }`)
    const { net } = (await read(text)).start
    expect(net.nodes.map((n) => [n.key, n.work.kind])).toEqual([
      ['count', 'run'],
      ['check', 'run'],
      ['end', 'pass'],
    ])
    expect((await program(text, 'count')).tasks).toMatchObject([{ label: 'count_task', kind: 'noop', config: {} }])
  })
})

describe('loops', () => {
  const each = async (loop: string, more = ''): Promise<EachWork> => {
    const text = flow(`- step: a\n  loop: ${loop}\n${more}  tool: { kind: shell, cmd: "echo {{ iter.x }}" }`)
    return (await node(text, 'a')).work as EachWork
  }

  it.each([
    ['sequential by default', '{ in: "{{ workload.list }}", iterator: x }', 1],
    ['sequential', '{ in: "{{ workload.list }}", iterator: x, spec: { mode: sequential } }', 1],
    ['parallel, all at once', '{ in: "{{ workload.list }}", iterator: x, spec: { mode: parallel } }', null],
    [
      'parallel, so many at a time',
      '{ in: "{{ workload.list }}", iterator: x, spec: { mode: parallel, max_in_flight: 7 } }',
      7,
    ],
    [
      'parallel, up to a number from a template',
      '{ in: "{{ workload.list }}", iterator: x, spec: { mode: parallel, max_in_flight: "{{ workload.n }}" } }',
      '{{ workload.n }}',
    ],
  ])('are %s', async (_, loop, maxInFlight) => {
    expect(await each(loop)).toMatchObject({ items: '{{ workload.list }}', as: 'x', collect: 'list', maxInFlight })
  })

  it('accept a list in the file, whose texts may be templates', async () => {
    const { items } = await each(
      `{ in: [1, "it's", "{{ workload.n + 1 }}", null, true, { a: ["\\"q\\"\\n"] }], iterator: x }`,
    )
    expect(items).toBe('{{ [1, "it\'s", (workload.n + 1), none, true, {"a": ["\\"q\\"\\n"]}] }}')
    const value = evaluate(compileExpression(items as string), { workload: { n: 1 } })
    expect(value).toEqual([1, "it's", 2, null, true, { a: ['"q"\n'] }])
  })

  it('stop at the first failure, or continue: best_effort', async () => {
    const loop = '{ in: [1], iterator: x }'
    expect(await each(loop)).toMatchObject({ failFast: true })
    expect(await each(loop)).not.toHaveProperty('tolerant')
    const spec = '  spec: { policy: { failure: { mode: best_effort } } }\n'
    expect(await each(loop, spec)).toMatchObject({ failFast: false, tolerant: true })
  })
})
