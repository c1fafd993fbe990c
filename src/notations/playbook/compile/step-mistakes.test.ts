import { describe, expect, it } from 'vitest'
import { flow, mistakes } from '../../../../test/playbook/reading.ts'
import { Tools } from '../../../tools/tools.ts'

const NOOP = '- { step: a, tool: { kind: noop } }'

type Cases = readonly (readonly [string, string, readonly string[]])[]

describe('names, arcs, jumps and kinds', () => {
  const task = (rules: string): string =>
    `- step: a\n  tool:\n    - { name: first, kind: noop }\n    - name: second\n      kind: noop\n      spec:\n        policy:\n          rules:\n${rules.replace(/^/gm, '            ')}\n- { step: other, tool: { name: there, kind: noop } }`
  const cases: Cases = [
    ['no name', '- { tool: { kind: noop } }', ['5:5 workflow[0]: a step needs a name (step: fetch)']],
    [
      'name instead of step',
      '- { name: a, tool: { kind: noop } }',
      ["5:7 workflow[0].name: a step has no field 'name' (step: its name)"],
    ],
    [
      'names that cannot be ones',
      `- { step: "#a", tool: { kind: noop } }\n- { step: " b", tool: { kind: noop } }\n- { step: 7, tool: { kind: noop } }\n- { step: ${'x'.repeat(129)}, tool: { kind: noop } }`,
      [
        "5:13 workflow[0].step: '#a' cannot be the name of a step (at most 128 characters, on one line, no # first)",
        "6:13 workflow[1].step: ' b' cannot be the name of a step (at most 128 characters, on one line, no # first)",
        "7:13 workflow[2].step: the name of a step must be a string, not 7 (write it in quotes: '7')",
        "8:13 workflow[3].step: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…' cannot be the name of a step (at most 128 characters, on one line, no # first)",
      ],
    ],
    [
      'one name for two steps',
      '- { step: a, tool: { kind: noop } }\n- { step: b, tool: { kind: noop } }\n- { step: a, tool: { kind: noop } }',
      ["7:13 workflow[2].step: there are two steps 'a' (the first is in line 5)"],
    ],
    [
      'one label for two tasks',
      '- step: a\n  tool:\n    - { name: x, kind: noop }\n    - { name: x, kind: shell, cmd: ls }',
      ["8:9 workflow[0].tool[1]: there are two tasks 'x' in this step (the first is in line 7)"],
    ],
    [
      'a label that jumps mean otherwise',
      '- step: a\n  tool: [{ name: previous, kind: noop }]',
      ["6:12 workflow[0].tool[0]: a task cannot be called 'previous' (jumps mean the task before by it)"],
    ],
    [
      'arcs to unknown steps',
      '- step: fetch\n  next:\n    arcs:\n      - { step: fetc, when: "{{ ctx.x }}" }\n      - step: nowhere',
      [
        "8:19 workflow[0].next.arcs[0].step: there is no step 'fetc' (did you mean 'fetch'?)",
        "9:17 workflow[0].next.arcs[1].step: there is no step 'nowhere' (steps: fetch)",
      ],
    ],
    [
      'invalid arcs',
      '- step: a\n  next:\n    arcs:\n      - 7\n      - { when: "{{ true }}" }\n      - { step: [a] }',
      [
        '8:11 workflow[0].next.arcs[0]: an arc must be a mapping, not 7 ({ step: done, when: "{{ … }}" })',
        '9:11 workflow[0].next.arcs[1]: an arc leads to a step (step: done)',
        '10:19 workflow[0].next.arcs[2].step: the name of a step must be a string, not a list (write one string)',
      ],
    ],
    [
      'an invalid next',
      '- { step: a, next: 7 }',
      ['5:22 workflow[0].next: next must be a mapping, not 7 (fields: spec, arcs, mode)'],
    ],
    [
      'arcs that are a map',
      '- { step: a, next: { spec: { mode: both }, arcs: { step: a } } }',
      [
        "5:38 workflow[0].next.spec.mode: mode cannot be 'both' (one of: exclusive, inclusive)",
        '5:52 workflow[0].next.arcs: arcs must be a list, not a mapping (write […])',
      ],
    ],
    [
      'args and set of an arc',
      '- { step: a, next: { arcs: [{ step: a, args: [1], set: [2], when: 3 }] } }',
      [
        '5:48 workflow[0].next.arcs[0].args: args must be a mapping, not a list (write { name: value })',
        '5:58 workflow[0].next.arcs[0].set: set must be a mapping, not a list (write { name: value })',
        '5:69 workflow[0].next.arcs[0].when: \'when\' must be a template, not 3 (write "{{ ctx.ready }}")',
      ],
    ],
    [
      'jumps to unknown labels',
      task(
        '- { when: "{{ true }}", then: { do: jump, to: frist } }\n- { when: "{{ true }}", then: { do: jump } }\n- { else: { then: { do: jump, to: nowhere } } }',
      ),
      [
        "13:61 workflow[0].tool[1].spec.policy.rules[0].then.to: there is no task 'frist' in this step (did you mean 'first'?)",
        '14:45 workflow[0].tool[1].spec.policy.rules[1].then: a jump needs a target (to: the name of a task)',
        "15:49 workflow[0].tool[1].spec.policy.rules[2].else.then.to: there is no task 'nowhere' in this step (tasks: first, second)",
      ],
    ],
    [
      'jumps into another step',
      task('- { when: "{{ true }}", then: { do: jump, to: there } }\n- { else: { then: { do: jump, to: other } } }'),
      [
        "13:61 workflow[0].tool[1].spec.policy.rules[0].then.to: 'there' is not in this step: a jump stays inside (tasks here: first, second; to another step leads an arc)",
        "14:49 workflow[0].tool[1].spec.policy.rules[1].else.then.to: 'other' is not in this step: a jump stays inside (tasks here: first, second; to another step leads an arc)",
      ],
    ],
    [
      'a jump before the first',
      '- step: a\n  tool: { kind: noop, spec: { policy: { rules: [{ else: { then: { do: jump, to: prev } } }] } } }',
      ['6:83 workflow[0].tool.spec.policy.rules[0].else.then.to: no task comes before this one (the name of a task)'],
    ],
    [
      'unknown kinds',
      '- { step: a, tool: { kind: pyhton } }\n- { step: b, tool: { kind: quantum } }\n- { step: c, tool: { kind: snowflake } }\n- { step: d, tool: {} }\n- { step: e, tool: { kind: 7 } }',
      [
        "5:30 workflow[0].tool.kind: there is no kind 'pyhton' (did you mean 'python'?)",
        "6:30 workflow[1].tool.kind: there is no kind 'quantum' (kinds: duckdb, http, javascript, noop, playbook, postgres, python, shell, workbook; others that workers bring: executor: { requires: { tools: [quantum] } })",
        "7:30 workflow[2].tool.kind: kind 'snowflake' is not supported (kinds: duckdb, http, javascript, noop, playbook, postgres, python, shell, workbook; others that workers bring: executor: { requires: { tools: [snowflake] } })",
        '8:22 workflow[3].tool: a task needs a kind (kind: python)',
        "9:30 workflow[4].tool.kind: kind must be a string, not 7 (write it in quotes: '7')",
      ],
    ],
    [
      'an invalid tool',
      '- { step: a, tool: python }\n- { step: b, tool: [python, { kind: noop }] }',
      [
        "5:22 workflow[0].tool: tool must be a mapping or a list of them, not 'python' (tool: { kind: python, code: … })",
        "6:23 workflow[1].tool[0]: a task must be a mapping, not 'python' ({ name: fetch, kind: http, url: … })",
      ],
    ],
    [
      'fields of tools',
      '- { step: a, tool: { kind: http } }\n- { step: b, tool: { kind: shell, cmd: 7, cwd: [x] } }\n- { step: c, tool: { kind: python, spec: { code: 7 } } }',
      [
        '5:22 workflow[0].tool: url is missing (url: https://example.com/items)',
        '6:42 workflow[1].tool.cmd: cmd must be text, not a number (see the fields of kind shell)',
        '6:50 workflow[1].tool.cwd: cwd must be text, not a list (see the fields of kind shell)',
        '7:52 workflow[2].tool.spec.code: code must be text, not a number (see the fields of kind python)',
      ],
    ],
    [
      'input, spec and set of a task',
      '- { step: a, tool: { kind: noop, input: [1], spec: 7, set: [1] } }',
      [
        '5:43 workflow[0].tool.input: input must be a mapping, not a list (write { name: value })',
        '5:54 workflow[0].tool.spec: spec must be a mapping, not 7 (spec: { policy: … })',
        '5:62 workflow[0].tool.set: set must be a mapping, not a list (write { name: value })',
      ],
    ],
  ]
  it.each(cases)('%s', async (_, steps, expected) => {
    expect(await mistakes(flow(steps))).toEqual(expected)
  })

  it('a custom kind is declared, or given to the reader', async () => {
    const steps = '- { step: a, tool: { kind: telegraph, to: x } }'
    expect(await mistakes(flow(steps, 'executor: { requires: { tools: [telegraph] } }\n'))).toEqual([])
    const check = () => [{ path: ['to'], message: 'nobody there', hint: 'somebody' }]
    const tools = Tools.standard().add({ kind: 'telegraph', check, run: () => Promise.reject(new Error('never')) })
    expect(await mistakes(flow(steps), { tools })).toEqual(['5:45 workflow[0].tool.to: nobody there (somebody)'])
  })
})

describe('rules, admission, loops and the rest of a step', () => {
  const rules = (list: string): string => `- { step: a, tool: { kind: noop, spec: { policy: ${list} } } }`
  const cases: Cases = [
    [
      'an invalid policy',
      rules('7'),
      ['5:52 workflow[0].tool.spec.policy: a policy must be a mapping, not 7 (policy: { rules: [ … ] })'],
    ],
    [
      'a policy without rules',
      rules('{}'),
      ['5:52 workflow[0].tool.spec.policy: a policy has rules (rules: [{ when: …, then: { do: retry } }])'],
    ],
    [
      'rules that are a map',
      rules('{ rules: { when: x } }'),
      ['5:61 workflow[0].tool.spec.policy.rules: rules must be a list, not a mapping (write […])'],
    ],
    [
      'invalid rules',
      rules('{ rules: [7, { when: "{{ true }}" }, { else: 7 }, { else: }] }'),
      [
        '5:62 workflow[0].tool.spec.policy.rules[0]: a rule must be a mapping, not 7 ({ when: "{{ … }}", then: { … } })',
        '5:65 workflow[0].tool.spec.policy.rules[1]: a rule needs an action (then: { do: continue })',
        '5:97 workflow[0].tool.spec.policy.rules[2].else: else must be a mapping, not 7 (else: { then: { do: continue } })',
        '5:102 workflow[0].tool.spec.policy.rules[3]: an else needs an action (else: { then: { do: continue } })',
      ],
    ],
    [
      'what to do',
      rules('{ on_unmatched: cry, rules: [{ when: "{{ true }}", then: { do: skip } }, { else: { then: {} } }] }'),
      [
        "5:68 workflow[0].tool.spec.policy.on_unmatched: on_unmatched cannot be 'cry' (one of: fail, continue)",
        "5:115 workflow[0].tool.spec.policy.rules[0].then.do: do cannot be 'skip' (one of: continue, retry, jump, break, fail)",
        "5:141 workflow[0].tool.spec.policy.rules[1].else.then: 'then' needs an action (do: continue | retry | jump | break | fail)",
      ],
    ],
    [
      'options of a retry',
      rules('{ rules: [{ else: { then: { do: retry, attempts: 0, backoff: quadratic, delay: soon } } }] }'),
      [
        '5:101 workflow[0].tool.spec.policy.rules[0].else.then.attempts: attempts (tries in all) must be a whole number of at least 1, not 0 (for example 1)',
        "5:113 workflow[0].tool.spec.policy.rules[0].else.then.backoff: backoff cannot be 'quadratic' (one of: none, linear, exponential)",
        "5:131 workflow[0].tool.spec.policy.rules[0].else.then.delay: delay (seconds) must be a number from 0 to 31536000, not 'soon' (for example 0)",
      ],
    ],
    [
      'two thens',
      rules('{ rules: [{ else: { then: { do: fail } }, then: { do: break } }] }'),
      ['5:100 workflow[0].tool.spec.policy.rules[0].then: an else has one then (keep the one inside)'],
    ],
    [
      'conditions',
      rules(
        '{ rules: [{ when: 7, then: { do: fail } }, { when: "", then: { do: fail } }, { when: [x], then: { do: fail } }] }',
      ),
      [
        '5:70 workflow[0].tool.spec.policy.rules[0].when: \'when\' must be a template, not 7 (write "{{ ctx.ready }}")',
        '5:103 workflow[0].tool.spec.policy.rules[1].when: \'when\' must be a template, not an empty string (write "{{ ctx.ready }}")',
        '5:137 workflow[0].tool.spec.policy.rules[2].when: \'when\' must be a template, not a list (write "{{ ctx.ready }}")',
      ],
    ],
    [
      'sets',
      rules(
        '{ rules: [{ else: { then: { do: fail, set: { "a.b.c": 1, "ctx.x": 1, "iter.a b": 2 }, set_ctx: { x: 2, "y.z": 1 } } } }] }',
      ),
      [
        "5:106 workflow[0].tool.spec.policy.rules[0].else.then.set.a.b.c: 'a.b.c' cannot be set (ctx.name, iter.name or step.name; the name without dots and spaces)",
        "5:133 workflow[0].tool.spec.policy.rules[0].else.then.set.iter.a b: 'iter.a b' cannot be set (ctx.name, iter.name or step.name; the name without dots and spaces)",
        "5:152 workflow[0].tool.spec.policy.rules[0].else.then.set_ctx.x: 'ctx.x' is set twice (keep one of the two)",
        "5:162 workflow[0].tool.spec.policy.rules[0].else.then.set_ctx.y.z: 'y.z' cannot be the name of an entry (a name without dots and spaces)",
      ],
    ],
    [
      'iter set by a step',
      '- { step: a, tool: { kind: noop }, set: { iter.n: 1, step.m: 2 } }',
      [
        "5:53 workflow[0].set.iter.n: 'iter.n' is gone by then: iter is of one run (set it in a task, or write ctx.n)",
        "5:64 workflow[0].set.step.m: 'step.m' is gone by then: step is of one run (set it in a task, or write ctx.m)",
      ],
    ],
    [
      'admission without rules',
      '- { step: a, spec: { policy: { admit: {} } }, tool: { kind: noop } }',
      [
        '5:41 workflow[0].spec.policy.admit: admit has rules (rules: [{ when: "{{ ctx.approved }}", then: { allow: true } }])',
      ],
    ],
    [
      'admission with no rule',
      '- { step: a, spec: { policy: { admit: { rules: [], on_deny: cry } } }, tool: { kind: noop } }',
      [
        '5:50 workflow[0].spec.policy.admit.rules: admit without rules denies everything (leave it out)',
        "5:63 workflow[0].spec.policy.admit.on_deny: on_deny cannot be 'cry' (one of: hold, discard)",
      ],
    ],
    [
      'admission rules',
      '- { step: a, spec: { policy: { admit: { rules: [{ when: "{{ true }}", then: true }, { when: "{{ true }}", then: {} }, { else: { then: { allow: perhaps } } }] } } }, tool: { kind: noop } }',
      [
        '5:79 workflow[0].spec.policy.admit.rules[0].then: an admission rule needs allow, not true (then: { allow: true })',
        '5:115 workflow[0].spec.policy.admit.rules[1].then: an admission rule needs allow (then: { allow: true })',
        "5:146 workflow[0].spec.policy.admit.rules[2].else.then.allow: allow must be true or false, not 'perhaps' (write true or false)",
      ],
    ],
    [
      'loops',
      '- { step: a, loop: 7, tool: { kind: noop } }\n- { step: b, loop: {}, tool: { kind: noop } }\n- { step: c, loop: { in: 7, iterator: "a b", spec: { mode: both, max_in_flight: 0 } }, tool: { kind: noop } }\n- { step: d, loop: { in: [1], iterator: ctx }, tool: { kind: noop } }\n- { step: e, loop: { in: [1], iterator: x } }',
      [
        '5:22 workflow[0].loop: a loop must be a mapping, not 7 (fields: in, iterator, spec, desc, mode, max_in_flight)',
        '6:22 workflow[1].loop: a loop needs a name for its items (iterator: item)',
        '6:22 workflow[1].loop: a loop needs a list (in: "{{ workload.items }}")',
        '7:28 workflow[2].loop.in: \'in\' must be a template or a list, not 7 (in: "{{ workload.items }}")',
        "7:41 workflow[2].loop.iterator: 'a b' cannot be the name of an item (letters, digits and _, no digit first)",
        "7:62 workflow[2].loop.spec.mode: mode cannot be 'both' (one of: sequential, parallel)",
        '7:83 workflow[2].loop.spec.max_in_flight: max_in_flight must be a whole number from 1 to 1000000, not 0 (for example 1)',
        "8:43 workflow[3].loop.iterator: 'ctx' means something else in templates: it cannot be the name of an item (iterator: item)",
        '9:22 workflow[4].loop: a loop has nothing to do (a tool: one task, or a list of them)',
      ],
    ],
    [
      'the policy of a loop',
      '- { step: a, loop: { in: [1], iterator: x, spec: { policy: { exec: nowhere, failure: { mode: best_effort } } } }, tool: { kind: noop } }',
      [
        "5:70 workflow[0].loop.spec.policy.exec: exec cannot be 'nowhere' (one of: local, distributed)",
        "5:79 workflow[0].loop.spec.policy.failure: policy of a loop has no field 'failure' (spec: { policy: { failure: { mode: … } } } of the step)",
      ],
    ],
    [
      'two timeouts',
      '- { step: a, spec: { timeout: 5, policy: { lifecycle: { timeout_s: 5 } } }, tool: { kind: noop } }',
      ['5:70 workflow[0].spec.policy.lifecycle.timeout_s: the step has two timeouts (keep one of the two)'],
    ],
    [
      'join, queue, timeout, failure',
      '- { step: a, spec: { join: some, queue: [], timeout: soon, policy: { failure: { mode: cry } } }, tool: { kind: noop } }',
      [
        "5:30 workflow[0].spec.join: join cannot be 'some' (one of: each, all)",
        '5:43 workflow[0].spec.queue: queue must be a string, not a list (write one string)',
        "5:56 workflow[0].spec.timeout: timeout must be a time longer than zero, not 'soon' (seconds as a number, or for example 500ms, 30s, 5m)",
        "5:89 workflow[0].spec.policy.failure.mode: mode cannot be 'cry' (one of: fail_fast, best_effort)",
      ],
    ],
    [
      'a workbook task that is not there',
      '- { step: a, tool: { kind: workbook, name: scor } }\n- { step: b, tool: { kind: workbook } }',
      [
        "5:46 workflow[0].tool.name: there is no task 'scor' in the workbook (tasks: none)",
        '6:22 workflow[1].tool: kind workbook names a task of the workbook (name: score)',
      ],
    ],
  ]
  it.each(cases)('%s', async (_, steps, expected) => {
    expect(await mistakes(flow(steps))).toEqual(expected)
  })

  it('of the workbook', async () => {
    const workbook = `workbook:
  - 7
  - { tool: { kind: noop } }
  - { name: a, tool: [{ kind: noop }] }
  - { name: b, tool: { kind: workbook, name: c } }
  - { name: c, tool: { kind: noop } }
  - { name: c, tool: { kind: noop } }
  - { name: d, tool: { kind: telegraph, to: x } }
  - { name: e, tool: { kind: shell } }
`
    const expected = [
      '7:5 workbook[0]: a task must be a mapping, not 7 ({ name: score, tool: { kind: python } })',
      '8:5 workbook[1]: a task of the workbook needs a name (name: score)',
      '9:22 workbook[2].tool: a task of the workbook is one tool (name the others in the workbook too, and all in the step)',
      '10:5 workbook[3]: a task of the workbook cannot be one of the workbook (kind: python)',
      "12:5 workbook[5]: there are two tasks 'c' (the first is in line 11)",
      "13:30 workbook[6].tool.kind: there is no kind 'telegraph' (kinds: duckdb, http, javascript, noop, playbook, postgres, python, shell, workbook; others that workers bring: executor: { requires: { tools: [telegraph] } })",
      '14:22 workbook[7].tool: cmds is missing (Give the commands: cmds: ["echo hello"].)',
    ]
    expect(await mistakes(flow(NOOP, workbook))).toEqual(expected)
    expect(await mistakes(flow(NOOP, 'workbook: 7\n'))).toEqual([
      '6:11 workbook: workbook must be a list of tasks, not 7 ([{ name: score, tool: { kind: python } }])',
    ])
  })
})
