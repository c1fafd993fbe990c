/**
 * `petrel run --mock` with DAG workflows: governance, schemas, policies, timeouts and subworkflows, played from an
 * outcomes file.
 */
import { describe, expect, it } from 'vitest'
import { shell } from './petrel.ts'

const sh = shell()
const HEAD = 'apiVersion: ioa.dev/v0.2\nkind: Workflow\n'
let files = 0

interface Step {
  readonly at_ms: number
  readonly node: string | null
  readonly role: string | null
  readonly outcome: string
}

/** `lines`: what happened to each step, as `node outcome@minutes`. */
async function dry(spec: string, outcomes: string | null, ...more: readonly string[]) {
  const n = ++files
  const file = sh.write(`flow-${n}.yaml`, `${HEAD}metadata: { name: flow-${n} }\nspec:\n${spec}`)
  const mock = outcomes === null ? ['--mock'] : ['--mock', sh.write(`outcomes-${n}.yaml`, outcomes)]
  const ended = await sh.petrel('run', file, ...mock, '--json', ...more)
  const answer = ended.out === '' ? null : ended.json()
  const trace: readonly Step[] = answer?.trace ?? []
  const lines = trace
    .filter((s) => s.node !== null)
    .map((s) => `${s.role === 'undo' ? 'undo ' : ''}${s.node} ${s.outcome}@${Math.floor(s.at_ms / 60_000)}`)
  return { ...ended, answer, lines }
}

const PAY = `  steps:
    - { name: book, timeout: 5m }
    - { name: pay, timeout: 5m, dependsOn: [book], onFailure: compensate, readOnly: true }
  compensation: [{ step: book, uses: book.cancel, timeout: 5m }]
`
const FORBIDDEN = 'error: { code: over_limit, message: above the limit, category: governance }'

describe('governance', () => {
  it('blocks the step and asks for approval; when approved (the default answer) the step runs again', async () => {
    const { code, answer, lines } = await dry(PAY, `pay: { ${FORBIDDEN} }`)
    expect([code, answer.instance.state]).toEqual([0, 'completed'])
    expect(lines).toEqual([
      'book succeeded@0',
      'pay failed@0',
      'pay waiting@0',
      'pay approved@0',
      'pay redriven@0',
      'pay succeeded@0',
    ])
  })

  it('when rejected, the step fails with its error and its onFailure applies', async () => {
    const { code, answer, lines } = await dry(PAY, `pay: { ${FORBIDDEN}, approve: false, reason: too much, after: 2h }`)
    expect([code, answer.instance.state]).toEqual([1, 'compensated'])
    expect(lines.filter((line) => !line.includes('stopping') && !line.includes('compensating'))).toEqual([
      'book succeeded@0',
      'pay failed@0',
      'pay waiting@0',
      'pay rejected@120',
      'undo book succeeded@120',
    ])
    expect(answer.error).toMatchObject({ code: 'over_limit', category: 'governance', node: 'pay' })
  })

  it('can forbid a step again after other failures: each execution has its line, and each question its answer', async () => {
    const { lines } = await dry(
      PAY,
      `pay:
  - error: { message: busy, category: transient }
  - { ${FORBIDDEN} }
  - { ${FORBIDDEN}, after: 1h }
  - result: paid
`,
    )
    const times = lines.map((line) => Number(line.split('@')[1]))
    expect(lines.map((line) => line.split('@')[0])).toEqual([
      'book succeeded',
      'pay retrying',
      'pay failed',
      'pay waiting',
      'pay approved',
      'pay redriven',
      'pay failed',
      'pay waiting',
      'pay approved',
      'pay redriven',
      'pay succeeded',
    ])
    expect([times[7], times[8]]).toEqual([0, 60])
  })

  it("takes people's answers separately from the step; a missing answer leaves the gate open until its deadline", async () => {
    const { answer, lines } = await dry(
      `  governance: { roles: [compliance], deadline: 1d, escalate: [{ after: 6h }] }\n${PAY}`,
      `pay: { ${FORBIDDEN} }\npay.governance: timeout\n`,
    )
    expect(answer.instance.state).toBe('compensated')
    expect(lines.slice(2, 5)).toEqual(['pay waiting@0', 'pay escalated@360', 'pay rejected@1440'])
  })

  it('a step that is forbidden and approved repeatedly is still open at the end', async () => {
    const list = Array.from({ length: 30 }, () => `  - { ${FORBIDDEN} }`).join('\n')
    const { code, answer, lines } = await dry(PAY, `pay:\n${list}\n`)
    expect([code, answer.instance.state]).toEqual([1, 'waiting'])
    expect(lines.filter((line) => line.startsWith('pay approved'))).toHaveLength(20)
  })
})

describe('schemas', () => {
  const spec = `  steps:
    - name: price
      timeout: 5m
      inputSchema: { type: object, required: [order] }
      outputSchema: { type: object, required: [total], properties: { total: { type: number, minimum: 1 } } }
    - { name: tell, timeout: 5m, dependsOn: [price], with: { total: '{{ results.price.total }}' } }
`

  it('a mocked step returns a value that fits its schema', async () => {
    const { code, answer } = await dry(spec, null, '--input', '{"order": 1}')
    expect([code, answer.results.price]).toEqual([0, { total: 1 }])
    expect(answer.results.tell).toMatchObject({ with: { total: 1 } })
  })

  it('a result that does not fit its schema fails as a validation error and is not retried', async () => {
    const { code, answer, lines } = await dry(spec, 'price: { result: { total: none } }', '--input', '{"order": 1}')
    expect([code, answer.error.code, answer.error.category]).toEqual([1, 'invalid_output', 'validation'])
    expect(lines.filter((line) => line.startsWith('price')).slice(0, 1)).toEqual(['price failed@0'])
  })

  it('an input that does not fit its schema fails before any step begins', async () => {
    const { code, answer } = await dry(spec, null, '--input', '{}')
    expect([code, answer.error.code, answer.error.category]).toEqual([1, 'invalid_input', 'validation'])
  })
})

describe('policies and timeouts', () => {
  it('failurePolicy: retry runs a failed step a second time, with all its attempts', async () => {
    const spec =
      '  failurePolicy: retry\n  steps: [{ name: a, timeout: 5m, retryPolicy: { maxRetries: 1, backoff: constant } }]\n'
    const busy = '  - error: { message: busy, category: transient }\n'
    const { code, lines } = await dry(spec, `a:\n${busy}${busy}${busy}  - ok\n`)
    expect(code).toBe(0)
    expect(lines.filter((line) => !line.includes('redriven'))).toEqual([
      'a retrying@0',
      'a failed@0',
      'a again@0',
      'a retrying@0',
      'a succeeded@0',
    ])
    const failed = await dry(spec, 'a: { error: { message: broken, category: agent } }')
    expect([failed.code, failed.answer.instance.state]).toEqual([1, 'failed'])
    expect(failed.lines.filter((line) => line.startsWith('a failed'))).toHaveLength(2)
  })

  it('a step that never answers ends by its own timeout or that of the workflow, whichever is first', async () => {
    const spec = (own: string): string => `  timeout: 1h\n  steps: [{ name: a, timeout: ${own} }]\n`
    const own = await dry(spec('5m'), 'a: timeout')
    expect([own.answer.instance.outcome, own.lines[0]]).toEqual(['failed', 'a timed out@5'])
    const whole = await dry(spec('2h'), 'a: timeout')
    expect([whole.answer.instance.state, whole.answer.instance.outcome]).toEqual(['failed', 'timed_out'])
    const { created_at, ended_at } = whole.answer.instance
    expect(Math.round((Date.parse(ended_at) - Date.parse(created_at)) / 60_000)).toBe(60)
  })

  it('the concurrency limit of a workflow does not affect a single instance', async () => {
    const { code } = await dry('  maxConcurrent: 1\n  steps: [{ name: a, timeout: 5m }]\n', null)
    expect(code).toBe(0)
  })
})

describe('subworkflows', () => {
  const ship = `${HEAD}metadata: { name: ship }
spec:
  timeout: 1h
  steps: [{ name: pack, timeout: 5m }, { name: send, timeout: 5m, dependsOn: [pack] }]
`

  it('a step can be a workflow in a neighbouring file, and its steps are mocked like any others', async () => {
    sh.write('ship.workflow.yaml', ship)
    const spec = `  steps:
    - { name: deliver, workflow: ship }
    - { name: bill, timeout: 5m, dependsOn: [deliver] }
`
    const { code, answer, lines } = await dry(spec, 'send: { result: sent }\n')
    expect(code).toBe(0)
    expect(lines).toEqual(['pack succeeded@0', 'send succeeded@0', 'bill succeeded@0'])
    expect(answer.results.bill.results.deliver.send).toBe('sent')
  })

  it('reports mistakes and warnings in a subworkflow with its name', async () => {
    sh.write('bad.yaml', ship.replace('ship', 'bad').replace('[pack]', '[pakc]'))
    sh.write('odd.yaml', ship.replace('ship', 'odd').replace(', timeout: 5m }]', ' }]').replace('timeout: 5m, ', ''))
    const main = (name: string): string =>
      `${HEAD}metadata: { name: main }\nspec: { steps: [{ name: a, workflow: ${name} }] }\n`
    sh.write('main.yaml', main('bad'))
    const { code, out } = await sh.petrel('check', 'main.yaml')
    expect(code).toBe(2)
    expect(out).toBe("bad.yaml:6:79: spec.steps[1].dependsOn[0]: there is no step 'pakc'\n  did you mean 'pack'?\n")
    sh.write('main.yaml', main('odd'))
    const warned = await sh.petrel('check', 'main.yaml')
    expect([warned.code, warned.out.split('\n')[1]]).toEqual([
      0,
      "odd.yaml:6:48: warning: spec.steps[1].name: step 'send' has no timeout: it can hang indefinitely",
    ])
    const json = (await sh.petrel('check', 'main.yaml', '--json')).json()
    expect(json.warnings).toMatchObject([{ file: 'odd.yaml', line: 6, rule: 'no_timeout' }])
    sh.write('main.yaml', main('shp'))
    expect((await sh.petrel('check', 'main.yaml')).out).toContain("there is no workflow 'shp'\n  did you mean 'ship'?")
  })
})

describe('bad outcomes files', () => {
  it.each([
    ['an unknown step', 'pey: ok', /'pey' is no node and no type of the definition\n {2}did you mean 'pay'\?/],
    ['an unknown word', 'pay: aproved', /an outcome cannot be 'aproved'\n {2}did you mean 'approved'\?/],
    [
      'an unknown category',
      'pay: { error: { message: x, category: goverance } }',
      /category cannot be 'goverance'\n {2}did you mean 'governance'\?/,
    ],
  ])('%s', async (_, text, expected) => {
    const file = sh.write('pay.yaml', `${HEAD}metadata: { name: pay }\nspec:\n${PAY}`)
    const { code, err } = await sh.petrel('run', file, '--mock', sh.write('bad-outcomes.yaml', text))
    expect(code).toBe(2)
    expect(err).toMatch(expected)
  })
})
