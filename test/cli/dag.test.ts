/** DAG workflows at the command line: checked, and played with all kinds of failures. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root, shell } from './petrel.ts'

const sh = shell()
const example = join(root, 'examples/onboarding.workflow.yaml')
const HEAD = 'apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: flow }\nspec:\n'
let files = 0

interface Step {
  readonly at_ms: number
  readonly node: string | null
  readonly role: string | null
  readonly outcome: string
}

/** Result of a dry run. `lines`: each `node outcome@seconds`; `undone`: the steps undone, in order. */
async function dry(file: string, outcomes: string, input: object = {}) {
  const mock = sh.write(`outcomes-${++files}.yaml`, outcomes)
  const ended = await sh.petrel('run', file, '--mock', mock, '--json', '--input', JSON.stringify(input))
  const answer = ended.out === '' ? null : ended.json()
  const trace: readonly Step[] = answer?.trace ?? []
  const own = trace.filter((s) => s.node !== null)
  return {
    ...ended,
    answer,
    lines: own.map((s) => `${s.role === 'undo' ? 'undo ' : ''}${s.node} ${s.outcome}@${Math.floor(s.at_ms / 1000)}`),
    undone: own.filter((s) => s.role === 'undo' && s.outcome === 'succeeded').map((s) => s.node),
    run: (node: string, role = 'work') => answer.runs.find((r: any) => r.node === node && r.role === role),
  }
}

const flow = (spec: string): string => sh.write(`flow-${++files}.yaml`, `${HEAD}${spec}`)

describe('petrel check of a workflow', () => {
  it('describes its contents', async () => {
    const { code, out } = await sh.petrel('check', example)
    expect(code).toBe(0)
    expect(out).toMatch(
      /onboarding\.workflow\.yaml: valid, dag 'customer-onboarding', 4 nodes, types growth-optimizer, product-analyst, data-pipeline\n$/,
    )
  })

  it('prints warnings as FILE:LINE:COLUMN and exits 0; with --strict they are problems', async () => {
    const file = 'warned.yaml'
    sh.write(file, `${HEAD}  steps:\n    - name: a\n      retryPolicy: { backoff: 30s }\n`)
    const { code, out } = await sh.petrel('check', file)
    expect(code).toBe(0)
    expect(out).toBe(
      `${file}: valid, dag 'flow', 1 node, types a, 2 warnings
${file}:6:13: warning: spec.steps[0].name: step 'a' has no timeout: it can hang indefinitely
  timeout: 5m
${file}:7:31: warning: spec.steps[0].retryPolicy.backoff: backoff names a strategy; '30s' is taken as a constant delay
  write backoff: constant and initialDelay: 30s
`,
    )
    const strict = await sh.petrel('check', file, '--strict')
    expect(strict.code).toBe(2)
    expect(strict.out).toMatch(/^warned\.yaml:6:13: spec\.steps\[0\]\.name: step 'a' has no timeout/)
    const json = await sh.petrel('check', file, '--json')
    expect(json.code).toBe(0)
    expect(json.json()).toMatchObject({
      valid: true,
      problems: [],
      warnings: [
        { line: 6, column: 13, path: 'spec.steps[0].name', hint: 'timeout: 5m' },
        { line: 7, column: 31, path: 'spec.steps[0].retryPolicy.backoff' },
      ],
    })
    expect((await sh.petrel('check', file, '--strict', '--json')).json()).toMatchObject({
      valid: false,
      problems: [{ line: 6 }, { line: 7 }],
    })
  })

  it('names the cycle', async () => {
    const file = flow('  steps:\n    - { name: a, dependsOn: [b] }\n    - { name: b, dependsOn: [a] }\n')
    const { code, out } = await sh.petrel('check', file)
    expect(code).toBe(2)
    expect(out).toContain(':6:30: spec.steps[0].dependsOn[0]: steps wait for each other: a → b → a')
  })
})

describe('the example of the specification, each step failing in turn', () => {
  const final = 'error: { message: broken, category: agent }'

  it('no step fails: completed, nothing is undone', async () => {
    const { code, answer, undone, lines } = await dry(example, '{}')
    expect([code, answer.instance.state, undone]).toEqual([0, 'completed', []])
    expect(lines).toEqual([
      'create-account succeeded@0',
      'provision-workspace succeeded@0',
      'setup-analytics succeeded@0',
      'send-welcome succeeded@0',
    ])
  })

  it('create-account fails: no step has completed, so nothing is undone', async () => {
    const { code, answer, undone } = await dry(example, `create-account: { ${final} }`)
    expect([code, answer.instance.state, answer.instance.outcome, undone]).toEqual([
      1,
      'compensated',
      'rolled_back',
      [],
    ])
  })

  it('provision-workspace fails: the account is deactivated', async () => {
    const { answer, undone } = await dry(example, `provision-workspace: { ${final} }`)
    expect([answer.instance.state, undone]).toEqual(['compensated', ['create-account']])
  })

  it('setup-analytics fails: first the workspace is undone, then the account', async () => {
    const { answer, undone, lines } = await dry(example, `setup-analytics: { ${final} }`)
    expect([answer.instance.state, undone]).toEqual(['compensated', ['provision-workspace', 'create-account']])
    expect(lines.some((line) => line.startsWith('send-welcome'))).toBe(false)
    expect(answer.error).toMatchObject({ node: 'setup-analytics', message: 'broken', category: 'agent' })
  })

  it('send-welcome fails: it is skipped, and nothing is undone', async () => {
    const { code, answer, undone, lines } = await dry(example, `send-welcome: { ${final} }`)
    expect([code, answer.instance.state, undone]).toEqual([0, 'completed', []])
    expect(lines.at(-1)).toBe('send-welcome skipped@0')
  })

  it('an undo fails: the rollback is partial, and both errors are kept', async () => {
    const { answer, undone } = await dry(
      example,
      `setup-analytics: { ${final} }\nprovision-workspace.undo: { error: { message: still in use, category: agent } }\n`,
    )
    expect([answer.instance.state, answer.instance.outcome, undone]).toEqual(['failed', 'rolled_back_partial', []])
    expect([answer.error.message, answer.undo_error.message]).toEqual(['broken', 'still in use'])
  })

  it('an undo receives its agent, action and input, and what its step received and returned', async () => {
    const { run } = await dry(example, `create-account: { result: { id: acc_1 } }\nprovision-workspace: { ${final} }`, {
      plan: 'pro',
    })
    // The mock returns the arguments it received.
    expect(run('create-account', 'undo').result).toEqual({
      agent: 'growth-optimizer',
      action: 'Deactivate account (soft delete)',
      input: { plan: 'pro' },
      step: {
        name: 'create-account',
        input: {
          agent: 'growth-optimizer',
          action: 'Create the user record',
          input: { plan: 'pro' },
          results: {},
        },
        result: { id: 'acc_1' },
      },
    })
  })

  it('its outcomes file: the workspace needs a second attempt, then analytics fails for good', async () => {
    const text = readFileSync(join(root, 'examples/onboarding.outcomes.yaml'), 'utf8')
    const { code, lines } = await dry(example, text)
    expect(code).toBe(1)
    expect(lines).toEqual([
      'create-account succeeded@0',
      'provision-workspace retrying@0',
      'provision-workspace succeeded@5',
      'setup-analytics failed@5',
      'setup-analytics stopping@5',
      'undo provision-workspace succeeded@5',
      'undo create-account succeeded@5',
    ])
  })
})

describe('categories of errors', () => {
  const one = (policy = ''): string => flow(`  steps:\n    - { name: a, timeout: 1h${policy} }\n`)
  const failing = (category: string): string => `a: { error: { message: no, category: ${category} } }`

  it.each(['transient', 'external'])('%s: three retries after 1, 2 and 4 s unless a policy overrides it', async (c) => {
    const { code, lines } = await dry(one(), failing(c))
    expect(code).toBe(1)
    expect(lines.slice(0, 4)).toEqual(['a retrying@0', 'a retrying@1', 'a retrying@3', 'a failed@7'])
  })

  it.each(['agent', 'validation', 'governance', 'timeout'])('%s: is not retried', async (c) => {
    const { lines } = await dry(one(), failing(c))
    expect(lines[0]).toBe('a failed@0')
  })

  it('retryOn selects the categories that are retried', async () => {
    const policy = ', retryPolicy: { maxRetries: 1, backoff: 30s, retryOn: [agent] }'
    expect((await dry(one(policy), failing('agent'))).lines.slice(0, 2)).toEqual(['a retrying@0', 'a failed@30'])
    expect((await dry(one(policy), failing('transient'))).lines[0]).toBe('a failed@0')
  })

  it('a step that exceeds its timeout is not retried', async () => {
    const { lines } = await dry(one(), 'a: { delay: 2h }')
    expect(lines[0]).toBe('a timed out@3600')
  })
})

describe('steps', () => {
  it('start when all their dependencies have ended; a skipped dependency appears as null', async () => {
    const file = flow(`  steps:
    - { name: left, timeout: 5m, onFailure: skip }
    - { name: right-one, timeout: 5m }
    - { name: both, timeout: 5m, dependsOn: [left, right-one], with: { n: "{{ results['right-one'].n + 1 }}" } }
`)
    const { code, lines, run } = await dry(
      file,
      'left: { error: { message: no, category: agent } }\nright-one: { delay: 1m, result: { n: 4 } }\n',
      { q: 1 },
    )
    expect(code).toBe(0)
    expect(lines).toEqual(['left failed@0', 'left skipped@0', 'right-one succeeded@60', 'both succeeded@60'])
    expect(run('both').result).toEqual({
      agent: null,
      action: null,
      input: { q: 1 },
      results: { left: null, 'right-one': { n: 4 } },
      with: { n: 5 },
    })
  })

  it('that are gates continue with the answer if approved, and follow their failure action if rejected', async () => {
    const file = flow(`  failurePolicy: compensate
  steps:
    - { name: draft, timeout: 5m }
    - { name: sign, action: 'GATE: sign it', timeout: 24h, dependsOn: [draft] }
    - { name: send, timeout: 5m, onFailure: abort, dependsOn: [sign] }
  compensation: [{ step: draft, uses: draft.undo }]
`)
    const signed = await dry(file, 'sign: { answer: { by: ada } }')
    expect(signed.code).toBe(0)
    expect(signed.run('send').result).toMatchObject({ results: { sign: { by: 'ada' } } })
    const refused = await dry(file, 'sign: rejected')
    expect([refused.answer.instance.state, refused.undone]).toEqual(['compensated', ['draft']])
    const late = await dry(file, 'sign: timeout')
    expect(late.lines).toContain('sign rejected@86400')
    expect(late.undone).toEqual(['draft'])
  })

  it('that are workflows end with that workflow, and `with` is its input', async () => {
    const file = flow(`  steps:
    - { name: ship, workflow: shipping, timeout: 1h, onFailure: skip, with: { parcel: '{{ input.p }}' } }
    - { name: tell, timeout: 5m, dependsOn: [ship] }
  workflows:
    shipping:
      steps:
        - { name: pack, timeout: 5m }
        - { name: send, timeout: 2h, dependsOn: [pack] }
`)
    const shipped = await dry(file, '{}', { p: 7 })
    expect(shipped.code).toBe(0)
    expect(shipped.answer.results.ship.pack.input).toEqual({ parcel: 7 })
    expect(shipped.run('tell').result).toMatchObject({ input: { p: 7 }, results: {} })
    const stuck = await dry(file, 'send: { delay: 90m }', { p: 7 })
    expect(stuck.code).toBe(0)
    expect(stuck.lines).toContain('ship skipped@3600')
  })

  it('the timeout of the workflow ends steps with longer timeouts, and follows failurePolicy', async () => {
    const file = flow(`  timeout: 1h
  failurePolicy: compensate
  steps: [{ name: a, timeout: 5m }, { name: b, timeout: 2h, dependsOn: [a], onFailure: skip }]
  compensation: [{ step: a, uses: a.undo }]
`)
    const { answer, undone } = await dry(file, 'b: { delay: 90m }')
    expect([answer.instance.state, undone]).toEqual(['compensated', ['a']])
  })
})
