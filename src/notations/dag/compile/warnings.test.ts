import { describe, expect, it } from 'vitest'
import { readInPlace } from '../../read.ts'

const HEAD = 'apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: flow }\nspec:\n'

/** Every warning as `line:column path: message (hint)`. */
async function warnings(spec: string, head = HEAD): Promise<readonly string[]> {
  const { warnings = [] } = await readInPlace('flow.yaml', `${head}${spec}`)
  return warnings.map((p) => `${p.line}:${p.column} ${p.path}: ${p.message}${p.hint === null ? '' : ` (${p.hint})`}`)
}

describe('warnings', () => {
  it('a workflow with timeouts and compensations has none', async () => {
    expect(
      await warnings(`  timeout: 1h
  failurePolicy: compensate
  steps:
    - { name: a, timeout: 5m }
    - { name: b, timeout: 5m, readOnly: true, dependsOn: [a] }
    - { name: c, timeout: 5m, dependsOn: [b], approval: Sure? }
    - { name: d, timeout: 5m, dependsOn: [c], onFailure: skip }
  compensation: [{ step: a, uses: a.undo, timeout: 5m }]
`),
    ).toEqual([])
  })

  it('steps without timeout, gates and undos too', async () => {
    expect(
      await warnings(`  steps:
    - name: a
    - { name: b, approval: { deadline: 1d } }
    - { name: c, approval: true }
    - { name: d, timeout: 5m, onFailure: compensate }
  compensation: [{ step: d, uses: x }]
`),
    ).toEqual([
      "6:13 spec.steps[0].name: step 'a' has no timeout: it can hang indefinitely (timeout: 5m)",
      "8:15 spec.steps[2].name: step 'c' has no timeout: it can hang indefinitely (timeout: 5m)",
      "10:26 spec.compensation[0].step: the compensation of 'd' has no timeout: it can hang indefinitely (timeout: 5m)",
    ])
  })

  it('a timeout beyond that of the workflow', async () => {
    expect(
      await warnings(
        '  timeout: 1h\n  steps:\n    - { name: a, timeout: 61m }\n    - { name: b, approval: { deadline: 2h } }\n',
      ),
    ).toEqual([
      "7:27 spec.steps[0].timeout: step 'a' may take longer than the whole workflow, whose timeout comes first (a shorter one, or a longer timeout of the workflow)",
      "8:40 spec.steps[1].approval.deadline: step 'b' may take longer than the whole workflow, whose timeout comes first (a shorter one, or a longer timeout of the workflow)",
    ])
  })

  it('compensation gaps: a step with the policy compensate that has no compensation and is not read-only', async () => {
    expect(
      await warnings(`  failurePolicy: compensate
  steps:
    - { name: a, timeout: 5m }
    - { name: b, timeout: 5m, readOnly: true }
    - { name: c, timeout: 5m, onFailure: abort }
    - { name: d, timeout: 5m, onFailure: compensate }
`),
    ).toEqual([
      "7:15 spec.steps[0].name: step 'a' compensates on failure but nothing undoes it (add a compensation entry for it, or readOnly: true if there is nothing to undo)",
      "10:15 spec.steps[3].name: step 'd' compensates on failure but nothing undoes it (add a compensation entry for it, or readOnly: true if there is nothing to undo)",
    ])
  })

  it('compensation that never runs', async () => {
    expect(
      await warnings('  steps: [{ name: a, timeout: 5m }]\n  compensation:\n    - { step: a, uses: x, timeout: 5m }\n'),
    ).toEqual([
      '7:5 spec.compensation: nothing in this workflow compensates: these entries never run (onFailure: compensate on steps, or failurePolicy: compensate)',
    ])
  })

  it('more than ten steps', async () => {
    const steps = (n: number): string =>
      `  steps:\n${Array.from({ length: n }, (_, i) => `    - { name: s${i}, timeout: 5m }\n`).join('')}`
    expect(await warnings(steps(10))).toEqual([])
    expect(await warnings(steps(11))).toEqual([
      '16:15 spec.steps[10].name: 11 steps; more than 10 are hard to follow (make nested workflows of some: workflow: NAME)',
    ])
  })

  it('unknown fields, wherever they are; a version that is not a text', async () => {
    expect(
      await warnings(
        `spec:
  priority: high
  trigger: { event: x, filter: y }
  steps:
    - name: a
      tiemout: 5m
      timeout: 5m
      retryPolicy: { maxRetry: 3 }
      outputShema: {}
    - { name: b, timeout: 5m, approval: { title: x, rolls: [y] }, dependsOn: [a, a] }
`,
        'apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: flow, team: x, version: 1.0 }\nstatsu: {}\n',
      ),
    ).toEqual([
      "3:25 metadata.team: metadata has no field 'team'; it is ignored (fields: name, owner, labels, annotations, tags, version, createdAt, updatedAt)",
      "3:43 metadata.version: version was read as the number 1 (write it in quotes: version: '1.0')",
      "4:1 statsu: a workflow has no field 'statsu'; it is ignored (did you mean 'status'?)",
      "6:3 spec.priority: a spec has no field 'priority'; it is ignored (fields: description, domainsInvolved, steps, compensation, timeout, failurePolicy, governance, trigger, maxConcurrent, workflows)",
      "7:24 spec.trigger.filter: a trigger has no field 'filter'; it is ignored (fields: event, condition, schedule, timezone)",
      "10:7 spec.steps[0].tiemout: a step has no field 'tiemout'; it is ignored (did you mean 'timeout'?)",
      "12:22 spec.steps[0].retryPolicy.maxRetry: a retryPolicy has no field 'maxRetry'; it is ignored (did you mean 'maxRetries'?)",
      "13:7 spec.steps[0].outputShema: a step has no field 'outputShema'; it is ignored (did you mean 'outputSchema'?)",
      "14:53 spec.steps[1].approval.rolls: an approval has no field 'rolls'; it is ignored (did you mean 'roles'?)",
      "14:82 spec.steps[1].dependsOn[1]: 'a' is listed twice (keep one)",
    ])
  })

  it('a duration as backoff, and fields without effect next to it or on a step of this kind', async () => {
    expect(
      await warnings(`  steps:
    - { name: a, timeout: 5m, retryPolicy: { backoff: 30s, initialDelay: 1s } }
    - { name: b, timeout: 5m, approval: true, retryPolicy: { maxRetries: 1 } }
`),
    ).toEqual([
      "6:55 spec.steps[0].retryPolicy.backoff: backoff names a strategy; '30s' is taken as a constant delay (write backoff: constant and initialDelay: 30s)",
      '6:74 spec.steps[0].retryPolicy.initialDelay: backoff already gives the delay; initialDelay is ignored (write backoff: constant and keep initialDelay)',
      '7:60 spec.steps[1].retryPolicy: retryPolicy has no effect: this step is a gate',
    ])
  })

  it('a nested workflow that no step uses, and warnings within nested ones', async () => {
    expect(
      await warnings(`  steps: [{ name: a, timeout: 5m, workflow: used }]
  workflows:
    used: { steps: [{ name: x }] }
    idle: { steps: [{ name: y, timeout: 5m }] }
`),
    ).toEqual([
      "7:29 spec.workflows.used.steps[0].name: step 'x' has no timeout: it can hang indefinitely (timeout: 5m)",
      "8:11 spec.workflows.idle: no step is workflow 'idle': it never runs",
    ])
  })
})
