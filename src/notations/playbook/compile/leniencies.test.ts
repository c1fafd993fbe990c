import { describe, expect, it } from 'vitest'
import { flow, mistakes, warnings } from '../../../../test/playbook/reading.ts'

describe('forms that are accepted with a warning, which a strict reader treats as a mistake', () => {
  it.each<readonly [string, string, readonly string[]]>([
    [
      'a task without a name in a list',
      '- step: a\n  tool:\n    - { kind: shell, cmd: ls }',
      ['7:9 workflow[0].tool[0]: a task of a list has a name; this one is task_0 (name: task_0)'],
    ],
    [
      'a label as the key of a task',
      '- step: a\n  tool:\n    - fetch: { kind: shell, cmd: ls }',
      ["7:9 workflow[0].tool[0]: the name of task 'fetch' is a key (write { name: fetch, kind: … })"],
    ],
    [
      'a label as the key of the only task',
      '- step: a\n  tool: { fetch: { kind: shell, cmd: ls } }',
      ["6:11 workflow[0].tool: the name of task 'fetch' is a key (write { name: fetch, kind: … })"],
    ],
    [
      'fields of the tool inside spec',
      '- step: a\n  tool:\n    kind: shell\n    spec: { cmd: "{{ input.x }}", args: { x: ls } }',
      [
        "8:15 workflow[0].tool.spec.cmd: 'cmd' is a field of the task, not of its spec (write it beside kind)",
        "8:37 workflow[0].tool.spec.args: 'args' is a field of the task, not of its spec (write it beside kind)",
      ],
    ],
    [
      'an empty tool',
      '- { step: a, tool: [], next: { arcs: [{ step: b }] } }\n- { step: b, tool: { kind: noop } }',
      ['5:22 workflow[0].tool: tool is an empty list (leave it out)'],
    ],
    [
      'a step with neither tool nor next',
      '- step: a',
      ['5:5 workflow[0]: a step has a tool or arcs to other steps (tool: { kind: noop })'],
    ],
    [
      'retry, output and assert of a tool',
      '- step: a\n  output: { store: x }\n  tool:\n    kind: noop\n    retry: { max_attempts: 3 }\n    output: { store: x }\n    assert: { returns: [x] }\n    spec: { result: { store: x } }',
      [
        "6:5 workflow[0].output: 'output' has no effect: results are kept as they are (leave it out)",
        "9:7 workflow[0].tool.retry: 'retry' has no effect: rules retry (spec: { policy: { rules: [{ when: …, then: { do: retry, attempts: 3 } }] } })",
        "10:7 workflow[0].tool.output: 'output' has no effect: results are kept as they are (leave it out)",
        "11:7 workflow[0].tool.assert: 'assert' has no effect: nothing is asserted (leave it out)",
        "12:15 workflow[0].tool.spec.result: 'result' has no effect: results are kept as they are (leave it out)",
      ],
    ],
    [
      'an unknown field',
      '- { step: a, descr: x, tool: { kind: noop } }',
      ["5:16 workflow[0].descr: a step has no field 'descr'; it is ignored (did you mean 'desc'?)"],
    ],
    [
      'a field unknown to the tool',
      '- { step: a, tool: { kind: shell, cmd: ls, shel: bash } }',
      [
        '5:46 workflow[0].tool.shel: unknown field shel (Known are cmds, cmd, command, env, cwd, timeout_seconds, timeout.)',
      ],
    ],
    [
      'else without then',
      '- step: a\n  tool:\n    kind: noop\n    spec:\n      policy:\n        rules:\n          - else: { do: break }',
      ["11:21 workflow[0].tool.spec.policy.rules[0].else: an else without 'then' (write else: { then: … })"],
    ],
    [
      'then next to else',
      '- step: a\n  tool:\n    kind: noop\n    spec:\n      policy:\n        rules:\n          - else:\n            then: { do: break }',
      ["12:15 workflow[0].tool.spec.policy.rules[0].then: 'then' is beside its else (write else: { then: … })"],
    ],
    [
      'then as a plain word',
      '- step: a\n  tool: { kind: noop, spec: { policy: { rules: [{ else: { then: break } }] } } }',
      [
        "6:67 workflow[0].tool.spec.policy.rules[0].else.then: 'then' must be a mapping, not 'break' (then: { do: break })",
      ],
    ],
    [
      'a rule without a condition',
      '- step: a\n  tool: { kind: noop, spec: { policy: { rules: [{ then: { do: break } }] } } }',
      ['6:51 workflow[0].tool.spec.policy.rules[0]: a rule without a condition always holds (write else: { then: … })'],
    ],
    [
      'a rule after else',
      '- step: a\n  tool:\n    kind: noop\n    spec:\n      policy:\n        rules:\n          - else: { then: { do: break } }\n          - { when: "{{ true }}", then: { do: fail } }',
      ['12:15 workflow[0].tool.spec.policy.rules[1]: this rule is never reached (the else in line 11 comes last)'],
    ],
    [
      'when that is true',
      '- step: a\n  tool: { kind: noop, spec: { policy: { rules: [{ when: true, then: { do: break } }] } } }',
      ['6:59 workflow[0].tool.spec.policy.rules[0].when: \'when\' must be a template, not true (write "{{ true }}")'],
    ],
    [
      'when that is empty',
      '- step: a\n  tool: { kind: noop }\n  next: { arcs: [{ step: b, when: }] }\n- { step: b, tool: { kind: noop } }',
      ["7:31 workflow[0].next.arcs[0].when: 'when' is empty: it always holds (leave it out)"],
    ],
    [
      'when without braces',
      '- step: a\n  tool: { kind: noop }\n  next: { arcs: [{ step: b, when: ctx.ok }] }\n- { step: b, tool: { kind: noop } }',
      ['7:37 workflow[0].next.arcs[0].when: \'when\' is a template and has no braces (write "{{ ctx.ok }}")'],
    ],
    [
      'backoff fixed, and options of another action',
      '- step: a\n  tool:\n    kind: noop\n    spec:\n      policy:\n        rules:\n          - when: "{{ output.status == \'error\' }}"\n            then: { do: retry, backoff: fixed, to: x }\n          - else: { then: { do: break, attempts: 2, delay: 1 } }',
      [
        "12:43 workflow[0].tool.spec.policy.rules[0].then.backoff: there is no backoff 'fixed' (backoff: none waits the same time after each failure)",
        "12:50 workflow[0].tool.spec.policy.rules[0].then.to: 'to' has no effect: it is of do: jump (leave it out)",
        "13:42 workflow[0].tool.spec.policy.rules[1].else.then.attempts: 'attempts' has no effect: it is of do: retry (leave it out)",
        "13:55 workflow[0].tool.spec.policy.rules[1].else.then.delay: 'delay' has no effect: it is of do: retry (leave it out)",
      ],
    ],
    [
      'placeholders of a policy',
      '- step: a\n  tool: { kind: noop, spec: { policy: { mode: x, before: [], rules: [] } } }',
      [
        "6:43 workflow[0].tool.spec.policy.mode: 'mode' has no effect: only rules count (write it as rules)",
        "6:52 workflow[0].tool.spec.policy.before: 'before' has no effect: only rules count (write it as rules)",
      ],
    ],
    [
      'set without a scope',
      '- { step: a, tool: { kind: noop }, set: { n: 1 } }',
      ["5:45 workflow[0].set.n: 'n' has no area (ctx, iter or step); it is read as ctx.n (ctx.n)"],
    ],
    [
      'set by scopes',
      '- step: a\n  tool:\n    kind: noop\n    set:\n      ctx: { n: 1 }\n      iter: { m: 2 }',
      [
        "9:9 workflow[0].tool.set.ctx: targets of set are written with a dot (write 'ctx.name': value)",
        "10:9 workflow[0].tool.set.iter: targets of set are written with a dot (write 'iter.name': value)",
      ],
    ],
    [
      'next that is a name',
      '- { step: a, next: b }\n- { step: b, tool: { kind: noop } }',
      ['5:22 workflow[0].next: next has arcs; this is the name of a step (next: { arcs: [{ step: b }] })'],
    ],
    [
      'next that is a list of names',
      '- { step: a, next: [b, c] }\n- { step: b, tool: { kind: noop } }\n- { step: c, tool: { kind: noop } }',
      [
        '5:22 workflow[0].next: next has arcs; this is a list, read as mode inclusive (next: { spec: { mode: inclusive }, arcs: [ … ] })',
      ],
    ],
    [
      'next that is a list of arcs',
      '- step: a\n  next:\n    - { step: b, when: "{{ ctx.b }}" }\n    - { step: c }\n- { step: b, tool: { kind: noop } }\n- { step: c, tool: { kind: noop } }',
      ['7:7 workflow[0].next: next has arcs; this is a list, read as mode exclusive (next: { arcs: [ … ] })'],
    ],
    [
      'next that is one arc',
      '- { step: a, next: { step: b } }\n- { step: b, tool: { kind: noop } }',
      ['5:22 workflow[0].next: next has arcs; this is one arc (next: { arcs: [{ step: … }] })'],
    ],
    [
      'next without arcs',
      '- { step: a, tool: { kind: noop }, next: { spec: { mode: exclusive } } }',
      ['5:44 workflow[0].next: next has no arcs (leave it out, or arcs: [{ step: … }])'],
    ],
    [
      'an arc that is a name',
      '- { step: a, next: { arcs: [b] } }\n- { step: b, tool: { kind: noop } }',
      ['5:31 workflow[0].next.arcs[0]: an arc is a mapping ({ step: b })'],
    ],
    [
      'mode next to spec',
      '- { step: a, next: { mode: inclusive, arcs: [{ step: b }] } }\n- { step: b, tool: { kind: noop } }',
      ["5:24 workflow[0].next.mode: 'mode' belongs under spec (spec: { mode: … })"],
    ],
    [
      'options of a loop next to spec, and in without braces',
      '- step: a\n  loop: { in: workload.list, iterator: x, mode: parallel, max_in_flight: 2 }\n  tool: { kind: shell, cmd: ls }',
      [
        '6:17 workflow[0].loop.in: \'in\' is a template and has no braces (write "{{ workload.list }}")',
        "6:45 workflow[0].loop.mode: 'mode' belongs under spec (spec: { mode: … })",
        "6:61 workflow[0].loop.max_in_flight: 'max_in_flight' belongs under spec (spec: { max_in_flight: … })",
      ],
    ],
    [
      'max_in_flight of a sequential loop',
      '- step: a\n  loop: { in: [1], iterator: x, spec: { max_in_flight: 2, frame: { max_rows: 1 } } }\n  tool: { kind: shell, cmd: ls }',
      [
        "6:43 workflow[0].loop.spec.max_in_flight: 'max_in_flight' has no effect: the loop is sequential (mode: parallel)",
        "6:61 workflow[0].loop.spec.frame: 'frame' has no effect: items are runs of their own (max_in_flight)",
      ],
    ],
    [
      'a deadline of a step',
      '- step: a\n  spec: { policy: { lifecycle: { timeout_s: 5, deadline_s: 9 } } }\n  tool: { kind: noop }',
      [
        "6:50 workflow[0].spec.policy.lifecycle.deadline_s: 'deadline_s' has no effect: a step has one clock, from its start (timeout_s)",
      ],
    ],
    [
      'options that do nothing: of an arc, of a router, of admission, of events',
      '- step: a\n  spec: { policy: { emit: all, admit: { mode: first, rules: [{ when: "{{ true }}", then: { allow: true } }] } } }\n  tool: { kind: noop }\n  next: { spec: { on_no_match: quiet, policy: {} }, arcs: [{ step: b, spec: {} }] }\n- { step: b, tool: { kind: noop } }',
      [
        "6:23 workflow[0].spec.policy.emit: 'emit' has no effect: every event is recorded (leave it out)",
        "6:43 workflow[0].spec.policy.admit.mode: 'mode' has no effect: the first rule that holds decides (leave it out)",
        "8:21 workflow[0].next.spec.on_no_match: 'on_no_match' has no effect: no match ends the branch (leave it out, or executor.spec.no_next_is_error)",
        "8:41 workflow[0].next.spec.policy: 'policy' has no effect: guards and mode decide (leave it out)",
        "8:73 workflow[0].next.arcs[0].spec: 'spec' has no effect: an arc has no options (leave it out)",
      ],
    ],
    [
      'output_select of a tool',
      '- { step: a, tool: { kind: shell, cmd: ls, output_select: [stdout] } }',
      [
        "5:46 workflow[0].tool.output_select: 'output_select' has no effect: results are kept as they are (leave it out)",
      ],
    ],
    [
      'unknown fields of every part of a step',
      '- step: a\n  spec: { x: 1, policy: { x: 1, failure: { x: 1 }, lifecycle: { x: 1 }, admit: { x: 1, rules: [{ x: 1, when: "{{ true }}", then: { allow: true, x: 1 } }] } } }\n  loop: { in: [1], iterator: i, x: 1, spec: { x: 1, policy: { x: 1 } } }\n  tool:\n    kind: noop\n    spec: { timeout: { read: 1, x: 1 }, policy: { x: 1, rules: [{ else: { then: { do: break, x: 1 }, x: 1 }, x: 1 }] } }\n  next: { x: 1, spec: { x: 1 }, arcs: [{ step: b, x: 1 }] }\n- { step: b, tool: { kind: noop } }',
      [
        "6:13 workflow[0].spec.x: spec of a step has no field 'x'; it is ignored (fields: policy, timeout, join, queue)",
        "6:29 workflow[0].spec.policy.x: policy of a step has no field 'x'; it is ignored (fields: admit, lifecycle, failure, emit)",
        "6:46 workflow[0].spec.policy.failure.x: failure has no field 'x'; it is ignored (fields: mode)",
        "6:67 workflow[0].spec.policy.lifecycle.x: lifecycle has no field 'x'; it is ignored (fields: timeout_s, deadline_s)",
        "6:84 workflow[0].spec.policy.admit.x: admit has no field 'x'; it is ignored (fields: rules, on_deny, mode)",
        "6:100 workflow[0].spec.policy.admit.rules[0].x: a rule has no field 'x'; it is ignored (fields: when, then)",
        "6:147 workflow[0].spec.policy.admit.rules[0].then.x: what follows has no field 'x'; it is ignored (fields: allow)",
        "7:35 workflow[0].loop.x: a loop has no field 'x'; it is ignored (fields: in, iterator, spec, desc, mode, max_in_flight)",
        "7:49 workflow[0].loop.spec.x: spec of a loop has no field 'x'; it is ignored (fields: mode, max_in_flight, policy, frame)",
        "7:65 workflow[0].loop.spec.policy.x: policy of a loop has no field 'x'; it is ignored (fields: exec)",
        "10:35 workflow[0].tool.spec.timeout.x: timeout has no field 'x'; it is ignored (fields: connect, read)",
        "10:53 workflow[0].tool.spec.policy.x: a policy has no field 'x'; it is ignored (fields: rules, mode, on_unmatched, before, after, finally)",
        "10:96 workflow[0].tool.spec.policy.rules[0].else.then.x: what follows has no field 'x'; it is ignored (fields: do, attempts, backoff, delay, to, set, set_ctx, set_iter)",
        "10:104 workflow[0].tool.spec.policy.rules[0].else.x: an else has no field 'x'; it is ignored (fields: then)",
        "10:112 workflow[0].tool.spec.policy.rules[0].x: an else has no field 'x'; it is ignored (fields: else, then)",
        "11:13 workflow[0].next.x: next has no field 'x'; it is ignored (fields: spec, arcs, mode)",
        "11:27 workflow[0].next.spec.x: spec of next has no field 'x'; it is ignored (fields: mode, on_no_match, policy)",
        "11:53 workflow[0].next.arcs[0].x: an arc has no field 'x'; it is ignored (fields: step, when, args, input, set, set_ctx, spec, desc)",
      ],
    ],
  ])('%s', async (_, steps, expected) => {
    expect(await warnings(flow(steps))).toEqual(expected)
    expect(await mistakes(flow(steps), { strict: true })).toEqual(expected)
  })

  it.each<readonly [string, string, readonly string[]]>([
    [
      'defaults of the executor',
      'executor: { spec: { policy: { defaults: { timeout: 5 } } } }',
      [
        "6:43 executor.spec.policy.defaults.timeout: 'timeout' has no effect: defaults are not inherited (set it on each step)",
      ],
    ],
    [
      'unknown fields of the executor',
      'executor: { x: 1, requires: { x: 1 }, spec: { x: 1, policy: { x: 1, limits: { x: 1 } } } }',
      [
        "6:13 executor.x: executor has no field 'x'; it is ignored (fields: profile, kind, version, requires, spec)",
        "6:31 executor.requires.x: requires has no field 'x'; it is ignored (fields: tools, features)",
        "6:47 executor.spec.x: executor.spec has no field 'x'; it is ignored (fields: entry_step, final_step, no_next_is_error, queue, timeout, policy)",
        "6:63 executor.spec.policy.x: executor.spec.policy has no field 'x'; it is ignored (fields: failed_on, partial, pending, final_step_failure, join, limits, defaults, results)",
        "6:79 executor.spec.policy.limits.x: limits has no field 'x'; it is ignored (fields: max_payload_bytes)",
      ],
    ],
    [
      'an unknown field of the keychain',
      'keychain: [{ name: k, kind: env, ref: K, x: 1 }]',
      [
        "6:42 keychain[0].x: an entry of the keychain has no field 'x'; it is ignored (fields: name, kind, map, ref, var, path, scope, desc, description)",
      ],
    ],
    [
      'tasks of the workbook by their names',
      'workbook: { score: { kind: noop } }',
      ['6:11 workbook: workbook is a list of tasks ([{ name: score, tool: { kind: python } }])'],
    ],
    [
      'an unknown field of the workbook',
      'workbook: { tasks: [{ name: score, x: 1, tool: { kind: noop } }], x: 1 }',
      [
        "6:36 workbook.tasks[0].x: a task of the workbook has no field 'x'; it is ignored (fields: name, tool, desc, description, title, assert)",
        "6:67 workbook.x: workbook has no field 'x'; it is ignored (fields: tasks)",
      ],
    ],
  ])('%s', async (_, more, expected) => {
    const text = flow('- { step: a, tool: { kind: noop } }', `${more}\n`)
    expect(await warnings(text)).toEqual(expected)
    expect(await mistakes(text, { strict: true })).toEqual(expected)
  })

  it('an unknown field of metadata', async () => {
    const text = flow('- { step: a, tool: { kind: noop } }').replace('{ name: flow }', '{ name: flow, owner: ada }')
    const expected: readonly string[] = [
      "3:25 metadata.owner: metadata has no field 'owner'; it is ignored (fields: name, version, path, description, tags, labels, exposed_in_ui, exposes_as_mcp, agent, capabilities, annotations)",
    ]
    expect(await warnings(text)).toEqual(expected)
    expect(await mistakes(text, { strict: true })).toEqual(expected)
  })

  it('fields that have no effect because the task is written in the workbook', async () => {
    const text = flow(
      '- { step: a, tool: { kind: workbook, name: score, code: x } }',
      'workbook: [{ name: score, tool: { kind: noop } }]\n',
    )
    const expected: readonly string[] = [
      "5:53 workflow[0].tool.code: 'code' has no effect: the task is written in the workbook (input is given here)",
    ]
    expect(await warnings(text)).toEqual(expected)
    expect(await mistakes(text, { strict: true })).toEqual(expected)
  })
})
