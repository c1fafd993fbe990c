import { describe, expect, it } from 'vitest'
import { flow, HEAD, mistakes } from '../../../../test/playbook/reading.ts'

const NOOP = '- { step: a, tool: { kind: noop } }'

type Cases = readonly (readonly [string, string, readonly string[]])[]

describe('mistakes in the head', () => {
  const cases: Cases = [
    [
      'nothing but a kind',
      'kind: Playbook\n',
      [
        '1:1 : a playbook needs an apiVersion (apiVersion: noetl.io/v2)',
        '1:1 metadata: a playbook needs metadata (metadata: { name: load_orders })',
        '1:1 : a playbook has a workflow (workflow: [{ step: first, tool: { kind: python, code: … } }])',
      ],
    ],
    [
      'nothing but a version',
      'apiVersion: noetl.io/v2\nmetadata: { name: x }\nworkflow: []\n',
      ['1:1 : a playbook needs its kind (kind: Playbook)', '3:11 workflow: workflow is empty (at least one step)'],
    ],
    [
      'another version',
      `apiVersion: noetl.io/v1\nkind: Playbook\nmetadata: { name: x }\nworkflow:\n${NOOP}\n`,
      ["1:13 apiVersion: apiVersion cannot be 'noetl.io/v1' (did you mean 'noetl.io/v2'?)"],
    ],
    [
      'root vars, spec and unknown fields',
      `${HEAD}vars: { a: 1 }\nspec: { b: 1 }\nworkflw: []\ntracing: {}\nworkflow:\n${NOOP}\n`,
      [
        "4:1 vars: a playbook has no section 'vars' (workload: { … } holds the values a playbook begins with)",
        "5:1 spec: a playbook has no section 'spec' (workload: { … } holds the values a playbook begins with)",
        "6:1 workflw: a playbook has no section 'workflw' (did you mean 'workflow'?)",
        "7:1 tracing: a playbook has no section 'tracing' (sections: apiVersion, kind, metadata, keychain, executor, workload, workflow, workbook)",
      ],
    ],
    [
      'metadata without a name',
      `apiVersion: noetl.io/v10\nkind: Playbook\nmetadata: { path: x }\nworkflow:\n${NOOP}\n`,
      ['3:11 metadata: metadata names the playbook (name: load_orders)'],
    ],
    [
      'a name that cannot be one',
      `apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: "#1", version: [1] }\nworkflow:\n${NOOP}\n`,
      [
        "3:19 metadata.name: '#1' cannot be the name of a playbook (letters, digits and _ - . : / at most 128, a letter or digit first)",
        '3:34 metadata.version: version must be a string, not a list (write one string)',
      ],
    ],
    [
      'a workload that is a list',
      `${HEAD}workload: [1]\nworkflow:\n${NOOP}\n`,
      ['4:11 workload: workload must be a mapping, not a list (write { name: value })'],
    ],
    [
      'a workflow that is a map',
      `${HEAD}workflow: { a: {} }\n`,
      [
        '4:11 workflow: workflow must be a list of steps, not a mapping (workflow: [{ step: first, tool: { kind: python, code: … } }])',
      ],
    ],
    [
      'invalid steps',
      `${HEAD}workflow:\n  - a\n  - []\n  -\n`,
      [
        "5:5 workflow[0]: a step must be a mapping, not 'a' ({ step: fetch, tool: { kind: http, url: … } })",
        '6:5 workflow[1]: a step must be a mapping, not a list ({ step: fetch, tool: { kind: http, url: … } })',
        '7:4 workflow[2]: a step must be a mapping, not empty ({ step: fetch, tool: { kind: http, url: … } })',
      ],
    ],
    [
      'a key twice',
      `${HEAD}workflow:\n  - { step: a, tool: { kind: noop, kind: shell } }\n`,
      ['5:36 workflow[0].tool.kind: Map keys must be unique (keep one of the two)'],
    ],
    [
      'a template without quotes',
      `${HEAD}workload: { a: {{ b }} }\nworkflow:\n${NOOP}\n`,
      ['4:17 : a template needs quotes: without them YAML reads {{ … }} as a mapping (write "{{ … }}")'],
    ],
    [
      'aliases that multiply each other',
      `${HEAD}workload:\n  a: &a [x, x, x, x, x, x, x, x, x]\n${'bcdefgh'
        .split('')
        .map((k, i) => {
          const before = 'abcdefg'[i]
          return `  ${k}: &${k} [${Array(9).fill(`*${before}`).join(', ')}]`
        })
        .join('\n')}\nworkflow:\n${NOOP}\n`,
      ['1:1 : Excessive alias count indicates a resource exhaustion attack (write out what the aliases stand for)'],
    ],
  ]
  it.each(cases)('%s', async (_, text, expected) => {
    expect(await mistakes(text)).toEqual(expected)
  })
})

describe('mistakes in executor and keychain', () => {
  const cases: Cases = [
    [
      'every policy',
      `executor:
  profile: remote
  spec:
    entry_step: b
    final_step: c
    no_next_is_error: yes please
    queue: 7
    timeout: 0
    policy:
      failed_on: always
      partial: maybe
      pending: never
      final_step_failure: ignore
      join: some
      limits: { max_payload_bytes: 1 }
`,
      [
        "7:12 executor.profile: profile cannot be 'remote' (one of: local, distributed, auto)",
        "9:17 executor.spec.entry_step: there is no step 'b' (did you mean 'a'?)",
        "10:17 executor.spec.final_step: there is no step 'c' (did you mean 'a'?)",
        "11:23 executor.spec.no_next_is_error: no_next_is_error must be true or false, not 'yes please' (write true or false)",
        "12:12 executor.spec.queue: queue must be a string, not 7 (write it in quotes: '7')",
        '13:14 executor.spec.timeout: timeout must be a time longer than zero, not 0 (seconds as a number, or for example 500ms, 30s, 5m)',
        "15:18 executor.spec.policy.failed_on: failed_on cannot be 'always' (one of: unhandled, any, fail_fast)",
        "16:16 executor.spec.policy.partial: partial must be true or false, not 'maybe' (write true or false)",
        "17:16 executor.spec.policy.pending: pending cannot be 'never' (one of: wait, complete)",
        "18:27 executor.spec.policy.final_step_failure: final_step_failure cannot be 'ignore' (one of: fail, partial)",
        "19:13 executor.spec.policy.join: join cannot be 'some' (one of: each, all)",
        '20:36 executor.spec.policy.limits.max_payload_bytes: max_payload_bytes must be a whole number of at least 256, not 1 (for example 256)',
      ],
    ],
    [
      'settings that belong elsewhere',
      'executor: { requires: 7, spec: { policy: { lifecycle: { timeout_s: 5 } } } }\n',
      [
        '6:23 executor.requires: requires must be a mapping, not 7 (fields: tools, features)',
        "6:44 executor.spec.policy.lifecycle: executor.spec.policy has no field 'lifecycle' (executor: { spec: { timeout: … } })",
      ],
    ],
    [
      'sections that are no mappings or lists',
      'executor: 7\nkeychain: 7\n',
      [
        '6:11 executor: executor must be a mapping, not 7 (fields: profile, kind, version, requires, spec)',
        '7:11 keychain: keychain must be a list, not 7 (write [7])',
      ],
    ],
    [
      'a final step that is the first',
      'executor: { spec: { final_step: a } }\n',
      [
        "6:33 executor.spec.final_step: 'a' is where the playbook begins: it cannot also come last (another step, or entry_step)",
      ],
    ],
    [
      'a final step that is the entry',
      'executor: { spec: { final_step: a, entry_step: a } }\n',
      [
        "6:33 executor.spec.final_step: 'a' is where the playbook begins: it cannot also come last (another step, or entry_step)",
      ],
    ],
    [
      'entries of the keychain',
      `keychain:
  - env
  - { kind: env, ref: X }
  - { name: a, ref: X }
  - { name: b, kind: env }
  - { name: c, kind: env, ref: X, map: { a: Y } }
  - { name: d, kind: file }
  - { name: e, kind: env, map: { a: 1, b: } }
  - { name: e, kind: env, ref: X }
`,
      [
        "7:5 keychain[0]: an entry of the keychain must be a mapping, not 'env' (name, kind, map)",
        '8:5 keychain[1]: an entry of the keychain needs a name (name: api)',
        '9:5 keychain[2]: an entry of the keychain needs a kind (kind: env or kind: file)',
        '10:5 keychain[3]: an entry of kind env names its variables: ref for one, map for several (ref: API_TOKEN, or map: { user: DB_USER, password: DB_PASSWORD })',
        '11:5 keychain[4]: an entry of kind env names its variables: ref for one, map for several (ref: API_TOKEN, or map: { user: DB_USER, password: DB_PASSWORD })',
        '12:5 keychain[5]: an entry of kind file needs the path of the file (ref: secrets/api.json)',
        "13:37 keychain[6].map.a: the name of a variable must be a string, not 1 (write it in quotes: '1')",
        "13:40 keychain[6].map.b: 'b' names no variable (b: VARIABLE)",
        "14:13 keychain[7].name: there are two entries 'e' (the first is in line 13)",
      ],
    ],
  ]
  it.each(cases)('%s', async (_, more, expected) => {
    expect(await mistakes(flow(NOOP, more))).toEqual(expected)
  })
})

describe('fields of other versions are refused, with their replacement', () => {
  const cases: Cases = [
    [
      'when',
      '- { step: a, when: "{{ true }}", tool: { kind: noop } }',
      [
        "5:16 workflow[0].when: a step has no field 'when' (spec.policy.admit: { rules: [{ when: …, then: { allow: true } }] }, or when on the arcs that lead here)",
      ],
    ],
    [
      'case',
      '- { step: a, case: [], tool: { kind: noop } }',
      [
        "5:16 workflow[0].case: a step has no field 'case' (next: { arcs: [{ step: …, when: … }] } for routes, spec.policy.rules of a task for its outcome)",
      ],
    ],
    ['type', '- { step: a, type: python }', ["5:16 workflow[0].type: a step has no field 'type' (tool: { kind: … })"]],
    [
      'vars, retry, sink, save',
      '- { step: a, tool: { kind: noop }, vars: {}, retry: {}, sink: {}, save: {} }',
      [
        "5:38 workflow[0].vars: a step has no field 'vars' (set: { ctx.name: value })",
        "5:48 workflow[0].retry: a step has no field 'retry' (spec: { policy: { rules: [{ when: …, then: { do: retry } }] } } of the task)",
        "5:59 workflow[0].sink: a step has no field 'sink' (a task or step of its own that writes)",
        "5:69 workflow[0].save: a step has no field 'save' (a task or step of its own that writes)",
      ],
    ],
    [
      'code of a step',
      '- { step: a, code: x, next: b }\n- { step: b, tool: { kind: noop } }',
      ["5:16 workflow[0].code: a step has no field 'code' (tool: { kind: python, code: … })"],
    ],
    [
      'spec.next_mode',
      '- { step: a, spec: { next_mode: exclusive }, tool: { kind: noop } }',
      ["5:24 workflow[0].spec.next_mode: spec of a step has no field 'next_mode' (next: { spec: { mode: … } })"],
    ],
    [
      'admit next to policy',
      '- { step: a, spec: { admit: {} }, tool: { kind: noop } }',
      ["5:24 workflow[0].spec.admit: spec of a step has no field 'admit' (spec: { policy: { admit: … } })"],
    ],
    [
      'rules of a step',
      '- { step: a, spec: { policy: { rules: [] } }, tool: { kind: noop } }',
      [
        "5:34 workflow[0].spec.policy.rules: policy of a step has no field 'rules' (spec: { policy: { rules } } of the task)",
      ],
    ],
    [
      'type of a tool',
      '- { step: a, tool: { type: python } }',
      ["5:24 workflow[0].tool.type: a task has no field 'type' (kind: …)"],
    ],
    [
      'eval, expr, case, when and policy of a tool',
      '- { step: a, tool: { kind: noop, eval: x, expr: x, case: x, when: x, policy: x } }',
      [
        "5:36 workflow[0].tool.eval: a task has no field 'eval' (spec: { policy: { rules: [ … ] } })",
        "5:45 workflow[0].tool.expr: a task has no field 'expr' (spec: { policy: { rules: [ … ] } })",
        "5:54 workflow[0].tool.case: a task has no field 'case' (spec: { policy: { rules: [ … ] } })",
        "5:63 workflow[0].tool.when: a task has no field 'when' (a rule of the task before it: then: { do: jump | break }, or an arc of the step)",
        "5:72 workflow[0].tool.policy: a task has no field 'policy' (spec: { policy: … })",
      ],
    ],
    [
      'vars, sink and save of a tool',
      '- { step: a, tool: { kind: noop, vars: x, sink: x, save: x } }',
      [
        "5:36 workflow[0].tool.vars: a task has no field 'vars' (set: { ctx.name: value })",
        "5:45 workflow[0].tool.sink: a task has no field 'sink' (a task of its own after this one)",
        "5:54 workflow[0].tool.save: a task has no field 'save' (a task of its own after this one)",
      ],
    ],
    [
      'cond of an arc',
      '- { step: a, next: { arcs: [{ step: a, cond: x }] } }',
      ['5:42 workflow[0].next.arcs[0].cond: an arc has no field \'cond\' (when: "{{ … }}")'],
    ],
    [
      'a cursor',
      '- { step: a, loop: { iterator: x, spec: { mode: cursor }, cursor: { kind: postgres } }, tool: { kind: noop } }',
      ["5:61 workflow[0].loop.cursor: a loop has no field 'cursor' (a step that reads the rows, and a loop over them)"],
    ],
    [
      'only the mode of a cursor',
      '- { step: a, loop: { in: [1], iterator: x, spec: { mode: cursor } }, tool: { kind: noop } }',
      [
        '5:60 workflow[0].loop.spec.mode: loops over a cursor are not supported (a step that reads the rows, and a loop over them)',
      ],
    ],
    [
      'collection and element of a loop',
      '- { step: a, loop: { collection: x, element: y }, tool: { kind: noop } }',
      [
        '5:24 workflow[0].loop.collection: a loop has no field \'collection\' (in: "{{ … }}")',
        "5:39 workflow[0].loop.element: a loop has no field 'element' (iterator: item)",
      ],
    ],
  ]
  it.each(cases)('%s', async (_, steps, expected) => {
    expect(await mistakes(flow(steps))).toEqual(expected)
  })
})
