import { describe, expect, it } from 'vitest'
import type { GateWork, Node } from '../../../net/net.ts'
import { readInPlace } from '../../read.ts'
import type { Definition } from '../../source/definition.ts'
import type { DefinitionError } from '../../source/mistakes.ts'

const HEAD = 'apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: flow }\nspec:\n'

const read = (spec: string): Promise<Definition> => readInPlace('flow.yaml', `${HEAD}${spec}`)

async function appeals(spec: string): Promise<Record<string, GateWork | undefined>> {
  const { net, nets = [] } = (await read(spec)).start
  return Object.fromEntries([net, ...nets].flatMap((n) => n.nodes.map((node: Node) => [node.key, node.appeal])))
}

const problems = (spec: string): Promise<readonly string[]> =>
  read(spec).then(
    () => [],
    (error: DefinitionError) => error.problems.map((p) => `${p.line}:${p.column} ${p.path}: ${p.message} (${p.hint})`),
  )

describe('governance', () => {
  it('by default, anyone may decide about a forbidden step, at any time', async () => {
    expect(await appeals('  steps: [{ name: pay, timeout: 5m }]\n')).toEqual({
      pay: { kind: 'gate', options: { title: 'governance: pay' }, timeoutMs: null, onTimeout: 'reject' },
    })
  })

  it('is configured with the fields of an approval, on the step, else on the spec, for nested workflows too', async () => {
    const found = await appeals(`  governance: { roles: [compliance], deadline: 1d, escalate: [{ after: 4h }] }
  steps:
    - { name: pay, governance: { title: Pay anyway?, quorum: 2, of: 3, onTimeout: approve } }
    - { name: tell, governance: Tell anyway? }
    - { name: ship }
    - { name: both, workflow: inner }
  workflows:
    inner: { steps: [{ name: deep }] }
`)
    const whole = { roles: ['compliance'], escalate: [{ after: 14_400_000 }] }
    expect(found).toEqual({
      pay: {
        kind: 'gate',
        options: { title: 'Pay anyway?', quorum: 2, of: 3 },
        timeoutMs: null,
        onTimeout: 'approve',
      },
      tell: { kind: 'gate', options: { title: 'Tell anyway?' }, timeoutMs: null, onTimeout: 'reject' },
      ship: {
        kind: 'gate',
        options: { title: 'governance: ship', ...whole },
        timeoutMs: 86_400_000,
        onTimeout: 'reject',
      },
      both: undefined,
      deep: {
        kind: 'gate',
        options: { title: 'governance: deep', ...whole },
        timeoutMs: 86_400_000,
        onTimeout: 'reject',
      },
    })
  })

  it('does not apply to gates and nested workflows themselves, which is reported', async () => {
    const { warnings } = await read(`  steps:
    - { name: a, timeout: 5m, approval: true, governance: true }
    - { name: b, timeout: 5m, workflow: w, governance: true }
  workflows: { w: { steps: [{ name: x, timeout: 5m }] } }
`)
    expect(warnings?.map((w) => `${w.line} ${w.message}`)).toEqual([
      '6 governance has no effect: this step is a gate',
      '7 governance has no effect: this step is a nested workflow',
    ])
  })

  it('mistakes in it are reported with their path and a suggestion', async () => {
    expect(
      await problems(`  governance: { quorum: 3, of: [ada, bob], onTimeout: aprove }
  steps:
    - { name: a, governance: false }
    - { name: b, governance: { deadline: soon } }
`),
    ).toEqual([
      '5:25 spec.governance.quorum: 3 approvals can never come of 2 (a smaller quorum, or more who vote)',
      "5:55 spec.governance.onTimeout: onTimeout cannot be 'aprove' (did you mean 'approve'?)",
      '7:30 spec.steps[0].governance: governance must be a mapping, not false (fields: title, description, form, roles, quorum, of, excludeInitiator, escalate, deadline, onTimeout)',
      "8:42 spec.steps[1].governance.deadline: deadline must be a duration, not 'soon' (for example 500ms, 30s, 5m, 2h or 1d; a bare number is milliseconds)",
    ])
  })
})

describe('inputSchema and outputSchema', () => {
  it('apply to `with` if given, else to the input of the workflow', async () => {
    const { net } = (
      await read(`  steps:
    - { name: a, inputSchema: { type: object, required: [order] }, outputSchema: { type: object } }
    - { name: b, with: { id: '{{ input.order }}' }, inputSchema: { required: [id] } }
    - { name: c }
`)
    ).start
    expect(net.nodes.map((n) => n.schema)).toEqual([
      { input: { path: ['input'], schema: { type: 'object', required: ['order'] } }, output: { type: 'object' } },
      { input: { path: ['with'], schema: { required: ['id'] } }, output: null },
      undefined,
    ])
  })

  it('an invalid schema is refused with its position', async () => {
    expect(
      await problems(`  steps:
    - name: a
      inputSchema:
        type: object
        properties:
          amount: { type: nubmer }
      outputSchema: [1]
    - name: b
      inputSchema: { $ref: '#/definitions/none' }
      outputSchema: { minimum: low }
`),
    ).toEqual([
      "10:27 spec.steps[0].inputSchema.properties.amount.type: not a JSON Schema: must be equal to one of the allowed values (did you mean 'number'?)",
      '11:21 spec.steps[0].outputSchema: outputSchema must be a JSON Schema, which is a mapping (outputSchema: { type: object, required: [id] })',
      "13:20 spec.steps[1].inputSchema: not a JSON Schema: can't resolve reference #/definitions/none from id # (inputSchema: { type: object, required: [id] })",
      '14:32 spec.steps[1].outputSchema.minimum: not a JSON Schema: must be number (outputSchema: { type: object, required: [id] })',
    ])
  })

  it('on a gate or a nested workflow are refused, since they would never be checked', async () => {
    expect(
      await problems(`  steps:
    - { name: a, approval: true, outputSchema: {} }
    - { name: b, workflow: w, inputSchema: {} }
  workflows: { w: { steps: [{ name: x }] } }
`),
    ).toEqual([
      '6:48 spec.steps[0].outputSchema: a gate has no outputSchema (approval: { form: … } checks the answer)',
      '7:44 spec.steps[1].inputSchema: a nested workflow has no inputSchema (give it to the steps inside)',
    ])
  })
})
