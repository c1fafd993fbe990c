import { describe, expect, it } from 'vitest'
import { readDefinition } from '../definition.ts'
import { DefinitionError } from '../mistakes.ts'

const file = (node: string): string => `kind: Net
version: 1
name: export
nodes:
  send:
    run: export.send
${node}
`

async function mistakes(node: string): Promise<string[]> {
  try {
    await readDefinition('export.yaml', file(node))
    return []
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    return error.problems.map(({ line, message }) => `${line}: ${message}`)
  }
}

describe('appeal and schema of a node in a file', () => {
  it('are read, and left out of the net where the file has none', async () => {
    const { start } = await readDefinition(
      'export.yaml',
      file(`    appeal: { title: Send it?, timeout: 2d, options: { roles: [privacy] } }
    schema: { input: { type: object }, path: with.order, output: { type: string } }`),
    )
    expect(start.net.nodes[0]).toMatchObject({
      appeal: {
        kind: 'gate',
        options: { title: 'Send it?', roles: ['privacy'] },
        timeoutMs: 172_800_000,
        onTimeout: 'reject',
      },
      schema: { input: { path: ['with', 'order'], schema: { type: 'object' } }, output: { type: 'string' } },
    })
    const plain = await readDefinition('export.yaml', file(''))
    expect(Object.keys(plain.start.net.nodes[0] as object)).not.toContain('appeal')
    expect(Object.keys(plain.start.net.nodes[0] as object)).not.toContain('schema')
  })

  it('a mistake in them is told with its line', async () => {
    expect(await mistakes('    appeal: { options: { quorum: 0 } }')).toEqual([
      '7: a whole number from 1 to 1000: approvals needed',
    ])
    expect(await mistakes('    schema:\n      output: { type: strng }')).toEqual([
      expect.stringMatching(/^8: not a JSON Schema: /),
    ])
    expect(await mistakes('    schema:\n      path: with\n      output: { type: string }')).toEqual([
      '8: path leads to what input is the schema of',
    ])
    expect(await mistakes("    schema: { input: { $ref: 'http://example.org/s.json' } }")).toEqual([
      expect.stringMatching(/^7: not a JSON Schema: can't resolve reference/),
    ])
  })

  it('the policy retry of a net is read', async () => {
    const { start } = await readDefinition('export.yaml', `${file('')}onFailure: retry\n`)
    expect(start.net.onFailure).toBe('retry')
  })
})
