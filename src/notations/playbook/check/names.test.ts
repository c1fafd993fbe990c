import { describe, expect, it } from 'vitest'
import { readInPlace } from '../../read.ts'
import { DefinitionError } from '../../source/mistakes.ts'

const HEAD = `apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: flow }
workload: { items: [1], url: x }
`

/** The steps begin in line 6. */
const flow = (steps: string, more = ''): string => `${HEAD}workflow:\n${steps.replace(/^(?=.)/gm, '  ')}\n${more}`

/** Every warning as `line:column path: message (hint)`, and every mistake after a `!`. */
async function reported(text: string): Promise<readonly string[]> {
  try {
    const { warnings = [] } = await readInPlace('flow.yaml', text)
    return warnings.map((w) => `${w.line}:${w.column} ${w.path}: ${w.message} (${w.hint})`)
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    return error.problems.map((p) => `! ${p.line}:${p.column} ${p.path}: ${p.message} (${p.hint})`)
  }
}

const shell = (cmd: string, more = ''): string => `- step: a\n  tool:\n    kind: shell\n    cmd: "${cmd}"\n${more}`
type Cases = readonly (readonly [string, string, readonly string[]])[]

describe('templates that do not parse are refused with their position', () => {
  const cases: Cases = [
    [
      'a field',
      shell('echo {{ workload. }}'),
      [
        '! 9:12 workflow[0].tool.cmd: the expression ends too early (line 1, column 6: {{ workload. }}) (an expression as in {{ workload.name }})',
      ],
    ],
    [
      'an input',
      '- step: a\n  tool:\n    kind: shell\n    cmd: ls\n    input:\n      good: "{{ workload.url }}"\n      bad: ["{{ 1 + }}"]',
      [
        '! 12:15 workflow[0].tool.input.bad[0]: the expression ends too early (line 1, column 1: {{ 1 + }}) (an expression as in {{ workload.name }})',
      ],
    ],
    [
      'the input of a step',
      '- step: a\n  args:\n    bad: "{{ (1 }}"\n  tool: { kind: shell, cmd: ls }',
      [
        '! 8:12 workflow[0].args.bad: `}` found where `)` is expected (line 1, column 7: }}) (an expression as in {{ workload.name }})',
      ],
    ],
    [
      'a guard',
      '- step: a\n  next:\n    arcs:\n      - step: b\n        when: "{{ a == }}"\n- { step: b, tool: { kind: noop } }',
      [
        '! 10:17 workflow[0].next.arcs[0].when: the expression ends too early (line 1, column 1: {{ a == }}) (an expression as in {{ workload.name }})',
      ],
    ],
    [
      'two pairs of braces in a guard',
      '- step: a\n  next:\n    arcs:\n      - step: b\n        when: "{{ a }} and {{ b }}"\n- { step: b, tool: { kind: noop } }',
      [
        '! 10:17 workflow[0].next.arcs[0].when: an expression is one `{{ … }}` or has no braces at all: join the parts inside one pair, as in `{{ a and b }}` (line 1, column 1: {{ a }} and {{ b }}) (an expression as in {{ workload.name }})',
      ],
    ],
    [
      'args and set of an arc',
      '- step: a\n  next:\n    arcs:\n      - step: b\n        args: { x: "{{ ! }}" }\n        set:\n          ctx.y: "{{ ? }}"\n- { step: b, tool: { kind: noop } }',
      [
        '! 10:22 workflow[0].next.arcs[0].args.x: Unexpected character: !; expressions are written as in Jinja2: and, or, not, ==, ~, | filter (line 1, column 1: {{ ! }}) (an expression as in {{ workload.name }})',
        '! 12:20 workflow[0].next.arcs[0].set.ctx.y: Unexpected character: ?; expressions are written as in Jinja2: and, or, not, ==, ~, | filter (line 1, column 1: {{ ? }}) (an expression as in {{ workload.name }})',
      ],
    ],
    [
      'a rule, its set and its delay',
      '- step: a\n  tool:\n    kind: noop\n    spec:\n      policy:\n        rules:\n          - when: "{{ % }}"\n            then:\n              do: retry\n              delay: "{{ % }}"\n              set_ctx:\n                x: "{{ % }}"',
      [
        '! 12:21 workflow[0].tool.spec.policy.rules[0].when: `%` is not expected here (line 1, column 1: {{ % }}) (an expression as in {{ workload.name }})',
        '! 15:24 workflow[0].tool.spec.policy.rules[0].then.delay: `%` is not expected here (line 1, column 1: {{ % }}) (an expression as in {{ workload.name }})',
        '! 17:22 workflow[0].tool.spec.policy.rules[0].then.set_ctx.x: `%` is not expected here (line 1, column 1: {{ % }}) (an expression as in {{ workload.name }})',
      ],
    ],
    [
      'the set of a task and of a step',
      '- step: a\n  tool:\n    kind: noop\n    set:\n      ctx.x: "{{ % }}"\n  set_ctx:\n    y: "{{ % }}"',
      [
        '! 10:16 workflow[0].tool.set.ctx.x: `%` is not expected here (line 1, column 1: {{ % }}) (an expression as in {{ workload.name }})',
        '! 12:10 workflow[0].set_ctx.y: `%` is not expected here (line 1, column 1: {{ % }}) (an expression as in {{ workload.name }})',
      ],
    ],
    [
      'admission',
      '- step: a\n  spec:\n    policy:\n      admit:\n        rules:\n          - when: "{{ % }}"\n            then: { allow: true }\n  tool: { kind: noop }',
      [
        '! 11:21 workflow[0].spec.policy.admit.rules[0].when: `%` is not expected here (line 1, column 1: {{ % }}) (an expression as in {{ workload.name }})',
      ],
    ],
    [
      'a loop',
      '- step: a\n  loop:\n    in: "{{ % }}"\n    iterator: x\n    spec:\n      mode: parallel\n      max_in_flight: "{{ % }}"\n  tool: { kind: shell, cmd: ls }',
      [
        '! 8:11 workflow[0].loop.in: `%` is not expected here (line 1, column 1: {{ % }}) (an expression as in {{ workload.name }})',
        '! 12:24 workflow[0].loop.spec.max_in_flight: `%` is not expected here (line 1, column 1: {{ % }}) (an expression as in {{ workload.name }})',
      ],
    ],
  ]
  it.each(cases)('%s', async (_, steps, expected) => {
    expect(await reported(flow(steps))).toEqual(expected)
  })

  it('an unknown filter', async () => {
    const [only, ...others] = await reported(flow(shell('{{ workload.url | shout }}')))
    expect(only).toMatch(/^! 9:12 workflow\[0\]\.tool\.cmd: there is no filter `shout`/)
    expect(others).toEqual([])
  })
})

describe('names that can never have a value get a warning', () => {
  const cases: Cases = [
    [
      'a slip in the name of a step',
      `${shell('ls', '  next: { arcs: [{ step: fetch }] }')}\n- step: fetch\n  tool: { kind: shell, cmd: "{{ fetsh.x }}" }`,
      ["12:31 workflow[1].tool.cmd: nothing is called 'fetsh' here: it is undefined (did you mean 'fetch'?)"],
    ],
    [
      'a slip in a key of the workload',
      shell('{{ workload.itmes }} {{ itmes }}'),
      [
        "9:12 workflow[0].tool.cmd: the workload has no 'itmes' (did you mean 'items'?)",
        "9:12 workflow[0].tool.cmd: nothing is called 'itmes' here: it is undefined (did you mean 'items'?)",
      ],
    ],
    [
      'names of other places: the item outside of a loop, tasks outside of their step',
      `- step: a\n  tool: [{ name: get, kind: shell, cmd: "{{ row }}" }]\n  next: { arcs: [{ step: b, when: "{{ get.ok }}" }] }\n- { step: b, tool: { kind: noop } }`,
      [
        "7:43 workflow[0].tool[0].cmd: nothing is called 'row' here: it is undefined (steps, keys of the workload, entries of ctx, the names of tasks, iter, _prev)",
        "8:37 workflow[0].next.arcs[0].when: nothing is called 'get' here: it is undefined (only the tasks of the step can name it; the result of the step is 'a')",
      ],
    ],
    [
      'output before the step has ended: at admission and in a loop',
      '- step: a\n  spec: { policy: { admit: { rules: [{ when: "{{ output.x }}", then: { allow: true } }] } } }\n  loop: { in: "{{ output.list }}", iterator: x }\n  tool: { kind: shell, cmd: ls }',
      [
        "7:48 workflow[0].spec.policy.admit.rules[0].when: nothing is called 'output' here: it is undefined (steps, keys of the workload, entries of ctx)",
        "8:17 workflow[0].loop.in: nothing is called 'output' here: it is undefined (steps, keys of the workload, entries of ctx)",
      ],
    ],
    [
      'result',
      '- step: a\n  tool: { kind: noop }\n  set: { ctx.n: "{{ result.n }}" }',
      [
        "8:19 workflow[0].set.ctx.n: nothing is called 'result' here: it is undefined (output.data is the result of what ended)",
      ],
    ],
    [
      'a step that cannot be read by its name',
      '- { step: event, tool: { kind: noop } }',
      [
        "6:13 workflow[0].step: 'event' means something else in templates: the result of this step cannot be read (another name)",
      ],
    ],
  ]
  it.each(cases)('%s', async (_, steps, expected) => {
    expect(await reported(flow(steps))).toEqual(expected)
  })

  it('existing names are accepted: steps, tasks, workload, context, items, args, names of the worker', async () => {
    const steps = `- step: first
  input: { given: "{{ items }}" }
  tool:
    - name: one
      kind: shell
      cmd: "{{ workload.more }} {{ ctx.anything }} {{ url }} {{ args.x }} {{ input.y }} {{ execution_id }} {{ job.uuid }} {{ now() }}"
      input: { mine: 1 }
      set: { ctx.seen: "{{ output.n }}", step.k: 1 }
    - name: two
      kind: shell
      cmd: "{{ one.n }} {{ results.one }} {{ _prev }} {{ _task }} {{ _attempt }} {{ step.k }} {{ iter.z }} {{ mine }} {{ given }} {{ seen }}"
      spec:
        policy:
          rules:
            - when: "{{ output.status == 'error' and outcome.error.kind == 'x' }}"
              then: { do: retry }
  set: { ctx.later: "{{ output.data }}" }
  next:
    arcs:
      - step: second
        when: "{{ event.name == 'step.done' and later and first.x and seen }}"
        args: { number: "{{ outcome.result }}" }
- step: second
  loop: { in: "{{ first.list }}", iterator: row }
  tool: { kind: shell, cmd: "{{ row }} {{ iter.row }} {{ loop.index }} {{ loop_index }} {{ number }} {% for x in row %}{{ x }}{{ loop.index }}{% endfor %}" }
`
    expect(await reported(flow(steps))).toEqual([])
  })
})

describe('the keychain', () => {
  const KEYCHAIN =
    'keychain:\n  - { name: api, kind: env, ref: API_TOKEN }\n  - { name: db, kind: env, map: { user: DB_USER } }\n  - { name: vault, kind: secrets, provider: google }\n'
  const cases: Cases = [
    [
      'is read in the fields and the input of a tool',
      '- step: a\n  tool:\n    kind: http\n    url: http://x/\n    headers: { authorization: "Bearer {{ keychain.api }}" }\n    input: { user: "{{ keychain.db.user }}" }',
      [],
    ],
    [
      'not elsewhere in a task',
      '- step: a\n  input: { t: "{{ keychain.api }}" }\n  tool:\n    kind: shell\n    cmd: ls\n    set: { ctx.t: "{{ keychain.api }}" }\n    spec: { policy: { rules: [{ when: "{{ keychain.api }}", then: { do: continue, set_ctx: { t: "{{ keychain.api }}" } } }] } }',
      [
        '! 7:17 workflow[0].input.t: the keychain is read by tools only: what is set or routed on is stored (give it to the tool that needs it: in its fields, or in the input of the task)',
        '! 11:21 workflow[0].tool.set.ctx.t: the keychain is read by tools only: what is set or routed on is stored (give it to the tool that needs it: in its fields, or in the input of the task)',
        '! 12:41 workflow[0].tool.spec.policy.rules[0].when: the keychain is read by tools only: what is set or routed on is stored (give it to the tool that needs it: in its fields, or in the input of the task)',
        '! 12:99 workflow[0].tool.spec.policy.rules[0].then.set_ctx.t: the keychain is read by tools only: what is set or routed on is stored (give it to the tool that needs it: in its fields, or in the input of the task)',
      ],
    ],
    [
      'not by a noop, whose result it would be',
      '- { step: a, tool: { kind: noop, result: "{{ keychain.api }}" } }',
      [
        '! 6:44 workflow[0].tool.result: the keychain is read by tools only: what is set or routed on is stored (give it to the tool that needs it: in its fields, or in the input of the task)',
      ],
    ],
    [
      'not in a step',
      '- step: a\n  spec: { policy: { admit: { rules: [{ when: "{{ keychain.api }}", then: { allow: true } }] } } }\n  loop: { in: "{{ keychain.api }}", iterator: x }\n  tool: { kind: shell, cmd: ls }\n  set: { ctx.t: "{{ keychain.api }}" }\n  next:\n    arcs:\n      - { step: a, when: "{{ keychain.api }}", args: { t: "{{ keychain.api }}" }, set: { ctx.t: "{{ keychain.api }}" } }',
      [
        '! 7:48 workflow[0].spec.policy.admit.rules[0].when: the keychain is read by tools only: what is set or routed on is stored (give it to the tool that needs it: in its fields, or in the input of the task)',
        '! 8:17 workflow[0].loop.in: the keychain is read by tools only: what is set or routed on is stored (give it to the tool that needs it: in its fields, or in the input of the task)',
        '! 10:19 workflow[0].set.ctx.t: the keychain is read by tools only: what is set or routed on is stored (give it to the tool that needs it: in its fields, or in the input of the task)',
        '! 13:28 workflow[0].next.arcs[0].when: the keychain is read by tools only: what is set or routed on is stored (give it to the tool that needs it: in its fields, or in the input of the task)',
        '! 13:61 workflow[0].next.arcs[0].args.t: the keychain is read by tools only: what is set or routed on is stored (give it to the tool that needs it: in its fields, or in the input of the task)',
        '! 13:99 workflow[0].next.arcs[0].set.ctx.t: the keychain is read by tools only: what is set or routed on is stored (give it to the tool that needs it: in its fields, or in the input of the task)',
      ],
    ],
    [
      'only where it is declared, and by its entries',
      shell('{{ keychain.apo }} {{ keychain.nothing }} {{ keychain }}'),
      [
        "! 9:12 workflow[0].tool.cmd: the keychain has no entry 'apo' (did you mean 'api'?)",
        "! 9:12 workflow[0].tool.cmd: the keychain has no entry 'nothing' (entries: api, db, vault)",
        '! 9:12 workflow[0].tool.cmd: the keychain is not given whole (keychain.NAME, or keychain.NAME.KEY)',
      ],
    ],
    [
      'only of kinds that can be read',
      `${shell('{{ keychain.vault.x }}')}\n- { step: b, tool: { kind: shell, cmd: "{{ keychain.vault.y }}" } }`,
      ["! 15:26 keychain[2].kind: entry 'vault' is of a kind that is not supported (kind: env or kind: file)"],
    ],
    [
      'the bare name of an entry as auth',
      '- { step: a, tool: { kind: postgres, auth: vault, query: select 1 } }',
      ["! 10:26 keychain[2].kind: entry 'vault' is of a kind that is not supported (kind: env or kind: file)"],
    ],
    [
      'token() reads it too',
      '- { step: a, tool: { kind: http, url: "http://x/?t={{ token(\'nothing\') }}" } }',
      ["! 6:41 workflow[0].tool.url: the keychain has no entry 'nothing' (entries: api, db, vault)"],
    ],
  ]
  it.each(cases)('%s', async (_, steps, expected) => {
    expect(await reported(flow(steps, KEYCHAIN))).toEqual(expected)
  })

  it('an unreadable entry that no step reads causes no mistake', async () => {
    expect(await reported(flow('- { step: a, tool: { kind: noop } }', KEYCHAIN))).toEqual([])
  })

  it('an undeclared entry is reported', async () => {
    expect(await reported(flow(shell('{{ keychain.api }}')))).toEqual([
      "! 9:12 workflow[0].tool.cmd: the keychain has no entry 'api' (declare it: keychain: [{ name, kind: env, ref }])",
    ])
  })
})
