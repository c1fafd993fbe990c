import { describe, expect, it } from 'vitest'
import { readInPlace } from '../../read.ts'
import { DefinitionError } from '../../source/mistakes.ts'

const HEAD = 'apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: flow }\n'

/** Every mistake as `line:column path: message (hint)`: each has a suggestion. */
async function mistakes(text: string): Promise<readonly string[]> {
  try {
    await readInPlace('flow.yaml', text)
    return []
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    for (const { message, hint } of error.problems) expect([message, hint]).not.toContain(null)
    return error.problems.map((p) => `${p.line}:${p.column} ${p.path}: ${p.message} (${p.hint})`)
  }
}

/** The steps begin in line 6, column 5. */
const steps = (text: string): string => `${HEAD}spec:\n  steps:\n${text.replace(/^/gm, '    ')}\n`

describe('mistakes in the head', () => {
  it('all of one file are reported at once, in its order', async () => {
    expect(
      await mistakes(`apiVersion: ioa.dev/v1
kind: Workflow
metadata:
  name: My Flow
  displayName: {}
  owner: { role: team }
  labels: [a]
  version: []
spec:
  failurePolicy: compensat
  timeout: soon
  domainsInvolved: growth
  steps:
    - { name: a, onFailure: ignore, timeout: 0s, readOnly: yes please }
`),
    ).toEqual([
      "1:13 apiVersion: apiVersion cannot be 'ioa.dev/v1' (did you mean 'ioa.dev/v0.2'?)",
      "4:9 metadata.name: 'My Flow' cannot be the name of a workflow (small letters, digits and -; a letter first)",
      '6:10 metadata.owner: an owner has a name (owner: { name: growth, role: team })',
      '7:11 metadata.labels: labels must be a mapping, not a list (labels: { team: growth })',
      '8:12 metadata.version: version must be a string, not a list (write one string)',
      "10:18 spec.failurePolicy: failurePolicy cannot be 'compensat' (did you mean 'compensate'?)",
      "11:12 spec.timeout: timeout must be a duration, not 'soon' (for example 500ms, 30s, 5m, 2h or 1d; a bare number is milliseconds)",
      "12:20 spec.domainsInvolved: domainsInvolved must be a list, not 'growth' (write [growth])",
      "14:29 spec.steps[0].onFailure: onFailure cannot be 'ignore' (one of: abort, skip, compensate)",
      '14:46 spec.steps[0].timeout: timeout must be longer than zero (for example 30s, 5m or 24h)',
      "14:60 spec.steps[0].readOnly: readOnly must be true or false, not 'yes please' (write true or false)",
    ])
  })

  it.each([
    [
      'nothing but a kind',
      'kind: Workflow\n',
      [
        '1:1 : a workflow needs an apiVersion (apiVersion: ioa.dev/v0.2)',
        '1:1 metadata: a workflow needs metadata (metadata: { name: onboarding })',
        '1:1 : a workflow needs a spec (spec: { steps: [ … ] })',
      ],
    ],
    [
      'metadata without a name',
      'apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { version: 1 }\nspec: { steps: [{ name: a }] }\n',
      ['3:11 metadata: metadata names the workflow (name: onboarding)'],
    ],
    [
      'a spec without steps',
      `${HEAD}spec: { description: x }\n`,
      ['4:7 spec: a spec has steps (steps: [{ name: first, agent: someone }])'],
    ],
    ['no step', `${HEAD}spec: { steps: [] }\n`, ['4:16 spec.steps: steps is empty (at least one step)']],
    [
      'steps that are no list',
      `${HEAD}spec: { steps: { a: 1 } }\n`,
      ['4:16 spec.steps: steps must be a list, not a mapping (write […])'],
    ],
    [
      'a spec that is no mapping',
      `${HEAD}spec: [1]\n`,
      [
        '4:7 spec: a spec must be a mapping, not a list (fields: description, domainsInvolved, steps, compensation, timeout, failurePolicy, governance, trigger, maxConcurrent, workflows)',
      ],
    ],
    ['an unknown kind', 'kind: Workflw\n', ["1:7 kind: unknown kind 'Workflw' (did you mean 'Workflow'?)"]],
    [
      'no domain at all',
      `${HEAD}spec: { domainsInvolved: [], steps: [{ name: a }] }\n`,
      ['4:26 spec.domainsInvolved: domainsInvolved is empty (at least one domain)'],
    ],
    [
      'no slot for executions',
      `${HEAD}spec: { maxConcurrent: 0, steps: [{ name: a }] }\n`,
      [
        '4:24 spec.maxConcurrent: maxConcurrent (instances that execute at once) must be a whole number of at least 1, not 0 (for example 1)',
      ],
    ],
  ])('%s', async (_, text, expected) => {
    expect(await mistakes(text)).toEqual(expected)
  })
})

describe('mistakes in steps', () => {
  it.each([
    ['no name', '- { agent: x }', ['6:7 spec.steps[0]: a step needs a name (name: create-account)']],
    [
      'a step that is a text',
      '- a',
      [
        "6:7 spec.steps[0]: a step must be a mapping, not 'a' (fields: name, agent, action, uses, queue, with, timeout, retryPolicy, inputSchema, outputSchema, dependsOn, onFailure, readOnly, approval, workflow, governance)",
      ],
    ],
    [
      'a name with spaces',
      '- name: send mail',
      [
        "6:13 spec.steps[0].name: 'send mail' cannot be the name of a step (letters, digits, - and _, at most 128; a letter or digit first)",
      ],
    ],
    [
      'a name twice',
      '- name: a\n- name: b\n- name: a',
      ["8:13 spec.steps[2].name: there are two steps 'a' (the first is in line 6)"],
    ],
    [
      'dependsOn as a text',
      '- name: a\n- { name: b, dependsOn: a }',
      ["7:29 spec.steps[1].dependsOn: dependsOn must be a list, not 'a' (write [a])"],
    ],
    [
      'an unknown dependency',
      '- name: fetch\n- name: report\n  dependsOn: [fecth]',
      ["8:19 spec.steps[1].dependsOn[0]: there is no step 'fecth' (did you mean 'fetch'?)"],
    ],
    [
      'a dependency far from any',
      '- name: fetch\n- name: report\n  dependsOn: [xyz]',
      ["8:19 spec.steps[1].dependsOn[0]: there is no step 'xyz' (steps: fetch, report)"],
    ],
    [
      'a gate that is a workflow',
      '- { name: a, approval: true, workflow: w }',
      [
        "6:44 spec.steps[0].workflow: there is no workflow 'w' (one under spec.workflows, or a definition of its own)",
        '6:44 spec.steps[0].workflow: a step is an approval or a workflow, not both (make two steps of it)',
      ],
    ],
  ])('%s', async (_, text, expected) => {
    expect([...(await mistakes(steps(text)))].sort()).toEqual([...expected].sort())
  })

  it('a cycle is named, with the steps that depend on it', async () => {
    expect(
      await mistakes(
        steps(`- name: start
- { name: a, dependsOn: [start, c] }
- { name: b, dependsOn: [a] }
- { name: c, dependsOn: [b] }
- { name: after, dependsOn: [c] }
- { name: both, dependsOn: [start, after] }`),
      ),
    ).toEqual([
      '7:37 spec.steps[1].dependsOn[1]: steps wait for each other: a → c → b → a (remove one of these dependencies)',
      "10:34 spec.steps[4].dependsOn[0]: step 'after' is dead: it can never run, 'c' never ends (resolve what 'c' waits for)",
      "11:40 spec.steps[5].dependsOn[1]: step 'both' is dead: its join cannot complete, 'after' never ends (resolve what 'after' waits for)",
    ])
  })

  it('a step that depends on itself, and no root', async () => {
    expect(await mistakes(steps('- { name: a, dependsOn: [a] }'))).toEqual([
      '6:5 spec.steps: no step can begin: every one depends on another (at least one step has no dependsOn)',
      "6:30 spec.steps[0].dependsOn[0]: step 'a' depends on itself: a → a (remove it)",
    ])
  })
})

describe('mistakes in policies', () => {
  it.each([
    [
      'a policy that is a number',
      'retryPolicy: 3',
      [
        '7:20 spec.steps[0].retryPolicy: a retryPolicy must be a mapping, not 3 (fields: maxRetries, backoff, initialDelay, maxDelay, retryOn)',
      ],
    ],
    [
      'less than no retries',
      'retryPolicy: { maxRetries: -1 }',
      [
        '7:34 spec.steps[0].retryPolicy.maxRetries: maxRetries must be a whole number from 0 to 1000000, not -1 (for example 0)',
      ],
    ],
    [
      'a strategy misspelt',
      'retryPolicy: { backoff: exponentail }',
      ["7:31 spec.steps[0].retryPolicy.backoff: backoff cannot be 'exponentail' (did you mean 'exponential'?)"],
    ],
    [
      'delays without a unit',
      'retryPolicy: { initialDelay: "5", maxDelay: 1 minute }',
      [
        "7:36 spec.steps[0].retryPolicy.initialDelay: initialDelay must be a duration, not '5' (for example 500ms, 30s, 5m, 2h or 1d; a bare number is milliseconds)",
        "7:51 spec.steps[0].retryPolicy.maxDelay: maxDelay must be a duration, not '1 minute' (for example 500ms, 30s, 5m, 2h or 1d; a bare number is milliseconds)",
      ],
    ],
    [
      'an unknown category',
      'retryPolicy: { retryOn: [transcient] }',
      ["7:32 spec.steps[0].retryPolicy.retryOn[0]: a category cannot be 'transcient' (did you mean 'transient'?)"],
    ],
    [
      'categories that are never retried',
      'retryPolicy: { retryOn: [timeout, agent, governance] }',
      [
        '7:32 spec.steps[0].retryPolicy.retryOn[0]: an error of category timeout is never tried again (retryOn: transient, agent, external)',
        '7:48 spec.steps[0].retryPolicy.retryOn[2]: an error of category governance is never tried again (retryOn: transient, agent, external)',
      ],
    ],
  ])('%s', async (_, text, expected) => {
    expect(await mistakes(steps(`- name: a\n  ${text}`))).toEqual(expected)
  })
})

describe('mistakes in compensation', () => {
  it.each([
    [
      'an unknown step',
      '- { step: fecth, agent: x, action: y }',
      ["8:15 spec.compensation[0].step: there is no step 'fecth' to compensate (did you mean 'fetch'?)"],
    ],
    [
      'a step twice',
      '- { step: fetch, agent: x, action: y }\n    - { step: fetch, uses: z }',
      ["9:15 spec.compensation[1].step: step 'fetch' is compensated twice (the first entry is in line 8)"],
    ],
    [
      'no step',
      '- { agent: x, action: y }',
      ['8:7 spec.compensation[0]: a compensation names the step it undoes (step: create-account)'],
    ],
    [
      'no agent',
      '- { step: fetch, action: y }',
      ['8:7 spec.compensation[0]: a compensation needs an agent and an action (agent: and action:, or uses:)'],
    ],
  ])('%s', async (_, text, expected) => {
    expect(await mistakes(`${HEAD}spec:\n  steps:\n    - name: fetch\n  compensation:\n    ${text}\n`)).toEqual(
      expected,
    )
  })
})

describe('mistakes in approvals', () => {
  it.each([
    [
      'an invalid deadline',
      '{ deadline: tomorrow }',
      [
        "7:29 spec.steps[0].approval.deadline: deadline must be a duration, not 'tomorrow' (for example 500ms, 30s, 5m, 2h or 1d; a bare number is milliseconds)",
      ],
    ],
    [
      'an unknown default decision',
      '{ onTimeout: wait }',
      ["7:30 spec.steps[0].approval.onTimeout: onTimeout cannot be 'wait' (one of: approve, reject)"],
    ],
    [
      'more approvals than voices',
      '{ quorum: 3, of: [ada, bob] }',
      ['7:27 spec.steps[0].approval.quorum: 3 approvals can never come of 2 (a smaller quorum, or more who vote)'],
    ],
    [
      'an escalation without a time',
      '{ escalate: [{ roles: [boss] }] }',
      ['7:30 spec.steps[0].approval.escalate[0]: an escalation needs a time ({ after: 4h, roles: [manager] })'],
    ],
    [
      'an escalation that comes too late',
      '{ deadline: 1h, escalate: [{ after: 2h }] }',
      [
        '7:53 spec.steps[0].approval.escalate[0].after: comes too late: the gate is decided after 3600000 ms (escalate: [{ after: 4h, roles: [manager] }], before the deadline)',
      ],
    ],
    [
      'a form that is no schema',
      '{ form: { type: nothing } }',
      [/^7:25 spec\.steps\[0\]\.approval\.form: not a JSON Schema/],
    ],
  ])('%s', async (_, text, expected) => {
    const found = await mistakes(steps(`- name: a\n  approval: ${text}`))
    expect(found).toEqual(expected.map((e) => (typeof e === 'string' ? e : expect.stringMatching(e))))
  })
})

describe('mistakes in triggers', () => {
  it.each([
    [
      'nothing in it',
      '{}',
      ["4:18 spec.trigger: a trigger has an event or a schedule (event: order.created, or schedule: '0 9 * * mon')"],
    ],
    [
      'a condition that does not parse',
      "{ event: x, condition: 'a >' }",
      [/^4:41 spec\.trigger\.condition: .*payload\.risk/],
    ],
    [
      'a condition of nothing',
      '{ schedule: 0 9 * * *, condition: a }',
      ['4:52 spec.trigger.condition: a condition looks at an event, and none is named (event: order.created)'],
    ],
    [
      'an invalid schedule',
      '{ schedule: every day }',
      ["4:30 spec.trigger.schedule: 'every day' is not a schedule (five fields as in '0 9 * * mon', or '@every 15m')"],
    ],
    [
      'a day that never comes',
      '{ schedule: 0 0 30 2 * }',
      ["4:30 spec.trigger.schedule: '0 0 30 2 *' never comes (for example '0 9 * * mon')"],
    ],
    [
      'an unknown time zone',
      '{ schedule: 0 9 * * *, timezone: Mars/Base }',
      ["4:51 spec.trigger.timezone: there is no time zone 'Mars/Base' (an IANA name such as Europe/Berlin)"],
    ],
    [
      'a time zone misspelt',
      '{ schedule: 0 9 * * *, timezone: Europe/Berln }',
      ["4:51 spec.trigger.timezone: there is no time zone 'Europe/Berln' (did you mean 'Europe/Berlin'?)"],
    ],
  ])('%s', async (_, text, expected) => {
    const found = await mistakes(`${HEAD}spec: { trigger: ${text}, steps: [{ name: a }] }\n`)
    expect(found).toEqual(expected.map((e) => (typeof e === 'string' ? e : expect.stringMatching(e))))
  })
})

describe('mistakes in templates', () => {
  it.each([
    ['one that does not parse', "with: '{{ input. }}'", [/^8:15 spec\.steps\[1\]\.with: /]],
    [
      'a step that is not there',
      "with: { x: '{{ results.fetsh }}' }",
      ["8:15 spec.steps[1].with: there is no step 'fetsh' (did you mean 'fetch'?)"],
    ],
    [
      'a step that is no dependency',
      "action: 'after {{ results.later.at }}'",
      [
        "8:17 spec.steps[1].action: step 'later' has not ended by then: it is not a dependency (names: input, results.STEP of fetch)",
      ],
    ],
    [
      'the step itself',
      "with: '{{ report }}'",
      [
        "8:15 spec.steps[1].with: step 'report' has not ended by then: it is not a dependency (names: input, results.STEP of fetch)",
      ],
    ],
    [
      'all results at once',
      "with: '{{ results }}'",
      [
        "8:15 spec.steps[1].with: 'results' needs the name of a step: results.STEP (names: input, results.STEP of fetch)",
      ],
    ],
    [
      'names of other notations',
      "with: '{{ ctx.x }}'",
      ["8:15 spec.steps[1].with: there is no 'ctx' here (names: input, results.STEP of fetch)"],
    ],
  ])('%s', async (_, text, expected) => {
    const found = await mistakes(
      steps(
        `- name: fetch\n- { name: report, dependsOn: [fetch],\n    ${text} }\n- { name: later, dependsOn: [report] }`,
      ),
    )
    expect(found).toEqual(expected.map((e) => (typeof e === 'string' ? e : expect.stringMatching(e))))
  })
})

describe('mistakes in nested workflows', () => {
  it('more than ten levels', async () => {
    const nest = (levels: number): string =>
      `${HEAD}spec:\n  steps: [{ name: a, workflow: w1 }]\n  workflows:\n${Array.from(
        { length: levels - 1 },
        (_, i) => `    w${i + 1}: { steps: [{ name: x${i < levels - 2 ? `, workflow: w${i + 2}` : ''} }] }\n`,
      ).join('')}`
    expect(await mistakes(nest(10))).toEqual([])
    const tooDeep = ['7:5 spec.workflows: workflows are nested more than 10 levels deep (make steps of the innermost)']
    expect(await mistakes(nest(11))).toEqual(tooDeep)
    expect(await mistakes(nest(3000))).toEqual(tooDeep)
  })

  it('a template that names a step on which its own does not depend', async () => {
    const flow = (inner: string): string => `${HEAD}spec:
  steps: [{ name: a, workflow: w }, { name: b, dependsOn: [a], with: '{{ results.a.${inner}.total }}' }]
  workflows: { w: { steps: [{ name: price }] } }
`
    expect(await mistakes(flow('price'))).toEqual([])
    expect(await mistakes(flow('prise'))).toEqual([
      "5:70 spec.steps[1].with: the workflow 'a' has no step 'prise' (did you mean 'price'?)",
    ])
  })

  it('an undefined name, a workflow within itself, a value that is not a workflow', async () => {
    expect(
      await mistakes(`${HEAD}spec:
  steps:
    - { name: a, workflow: shiping }
    - { name: b, workflow: one }
  workflows:
    shipping:
      steps: [{ name: pack }]
    one:
      steps: [{ name: x, workflow: two }]
    two:
      steps: [{ name: y, workflow: one }]
    Three: 3
`),
    ).toEqual([
      "6:28 spec.steps[0].workflow: there is no workflow 'shiping' (did you mean 'shipping'?)",
      "12:36 spec.workflows.one.steps[0].workflow: workflow 'one' contains itself: one → two → one (remove one of these steps)",
      "15:12 spec.workflows.Three: 'Three' cannot be the name of a workflow (small letters, digits and -; a letter first)",
      "15:12 spec.workflows.Three: workflow 'Three' is a mapping with steps (steps: [ … ])",
    ])
  })
})
