import { describe, expect, it } from 'vitest'
import { readInPlace } from '../read.ts'
import { DefinitionError } from '../source/mistakes.ts'

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
    await readInPlace('export.yaml', file(node))
    return []
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    return error.problems.map(({ line, message }) => `${line}: ${message}`)
  }
}

describe('appeal and schema of a node in a file', () => {
  it('are read, and absent in the net if absent in the file', async () => {
    const { start } = await readInPlace(
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
    const plain = await readInPlace('export.yaml', file(''))
    expect(Object.keys(plain.start.net.nodes[0] as object)).not.toContain('appeal')
    expect(Object.keys(plain.start.net.nodes[0] as object)).not.toContain('schema')
  })

  it('a mistake in them is reported with its line', async () => {
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

  it('the policy for unknown work is read, per node and for the net, and only runs can be unknown', async () => {
    const { start } = await readInPlace('export.yaml', `${file('    unknown: undo')}unknown: stop\n`)
    expect([start.net.unknown, start.net.nodes[0]?.unknown]).toEqual(['stop', 'undo'])
    const plain = await readInPlace('export.yaml', file(''))
    expect(Object.keys(plain.start.net.nodes[0] as object)).not.toContain('unknown')
    expect(await mistakes('    unknown: retry')).toEqual([expect.stringMatching(/^7: unknown cannot be /)])
    expect(await mistakes('    next: then\n  then:\n    pass:\n    unknown: stop')).toEqual([
      "10: only runs can stay silent, node 'then' makes none",
    ])
  })

  it('the policy retry of a net is read', async () => {
    const { start } = await readInPlace('export.yaml', `${file('')}onFailure: retry\n`)
    expect(start.net.onFailure).toBe('retry')
  })
})

describe('options of a net in a file', () => {
  const whole = `kind: Net
version: 1
name: pages
defaults: { host: example.org, opts: { retries: 2 } }
inlineBytes: 65536
summary: true
tells: true
verdict: { failedOn: first }
nodes:
  fork:
    pass:
    set: { started: true }
    next: { every: [a, b, c], scope: [outer, inner] }
  a: { child: { net: other, returns: last }, next: inner }
  c: { run: { type: c.do, program: { steps: [one] } }, next: inner }
  b:
    each: { items: input.xs, run: b.item, args: { x: '{{ row }}' }, as: row, collect: list, tolerant: true, maxInFlight: input.width, shared: { all: '{{ input.all }}' } }
    next: inner
  inner: { pass: , join: scope, next: outer }
  outer: { pass: , join: scope }
nets:
  other: { nodes: { last: { run: other.last } } }
`

  it('are read as the net has them', async () => {
    const { start } = await readInPlace('pages.yaml', whole)
    const { net } = start
    expect(net).toMatchObject({
      input: { host: 'example.org', opts: { retries: 2 } },
      inlineBytes: 65_536,
      summary: true,
      tells: true,
      verdict: { failedOn: 'first', partial: false },
      entry: ['fork'],
    })
    const [fork, a, c, b] = net.nodes
    expect(fork).toMatchObject({ set: { started: true }, next: { scope: ['outer', 'inner'] } })
    expect(a?.work).toMatchObject({ kind: 'child', returns: 'last' })
    expect(c?.work).toMatchObject({ kind: 'run', type: 'c.do', program: { steps: ['one'] } })
    expect(b?.work).toMatchObject({
      as: 'row',
      collect: 'list',
      tolerant: true,
      maxInFlight: 'input.width',
      shared: { all: '{{ input.all }}' },
    })
    expect(start.input).toBeUndefined()
  })

  it('are absent in the net if absent in the file', async () => {
    const { start } = await readInPlace('export.yaml', `${file('')}summary: false\n`)
    for (const key of ['input', 'inlineBytes', 'summary', 'tells']) expect(Object.keys(start.net)).not.toContain(key)
    const [node] = start.net.nodes
    expect(Object.keys(node as object)).not.toContain('set')
    expect(Object.keys(node?.work as object)).not.toContain('program')
    const list = await readInPlace('l.yaml', 'kind: Net\nversion: 1\nnodes: { l: { each: { items: xs, run: x } } }\n')
    const [each] = list.start.net.nodes
    expect(Object.keys(each?.work as object)).toEqual(['kind', 'items', 'body', 'maxInFlight', 'failFast'])
  })

  it('mistakes in them are reported with their line', async () => {
    const wrong = async (from: string, to: string): Promise<string> => {
      expect(whole).toContain(from)
      try {
        await readInPlace('pages.yaml', whole.replace(from, to))
        return 'none'
      } catch (error) {
        if (!(error instanceof DefinitionError)) throw error
        return error.problems.map(({ line, message }) => `${line}: ${message}`).join('\n')
      }
    }
    expect(await wrong('inlineBytes: 65536', 'inlineBytes: 1')).toMatch(/^5: inlineBytes .*64/)
    expect(await wrong('defaults: { host: example.org, opts: { retries: 2 } }', 'defaults: [1]')).toBe(
      '4: defaults of the input are a map, by key',
    )
    expect(await wrong('summary: true', 'summary: yes please')).toMatch(/^6: summary /)
    expect(await wrong('tells: true', 'tells: 1')).toMatch(/^7: tells /)
    expect(await wrong('failedOn: first', 'failedOn: firts')).toMatch(/^8: .*firts/)
    expect(await wrong('as: row', 'as: ctx')).toBe("17: 'ctx' already names something else")
    expect(await wrong('as: row', 'as: 1x')).toMatch(/^17: a name of letters/)
    expect(await wrong('collect: list', 'collect: map')).toMatch(/^17: .*map/)
    expect(await wrong('tolerant: true', 'tolerant: true, failFast: true')).toMatch(/^17: with failFast the first/)
    const shared = "shared: { all: '{{ input.all }}' }"
    expect(await wrong(shared, 'shared: x')).toBe('17: what items share is a map, by name')
    expect(await wrong(shared, "shared: { all: '{{ input. }}' }")).toMatch(/^17: /)
    expect(await wrong("args: { x: '{{ row }}' }", "args: '{{ row }}'")).toBe(
      '17: beside shared arguments, those of an item are a map, by name',
    )
    expect(await wrong("args: { x: '{{ row }}' }", 'args: { $shared: 1 }')).toMatch(/^17: '\$shared' refers to the/)
    expect(await wrong('maxInFlight: input.width', 'maxInFlight: 0')).toMatch(/^17: /)
    expect(await wrong('maxInFlight: input.width', "maxInFlight: 'input. +'")).toMatch(/^17: /)
    expect(await wrong('scope: [outer, inner]', 'scope: [outer, outer]')).toMatch(/^13: each node only once/)
    expect(await wrong('scope: [outer, inner]', 'scope: [outer, nobody]')).toMatch(/^13: there is no node 'nobody'/)
    expect(await wrong('scope: [outer, inner]', 'scope: [outer, a]')).toMatch(/^13: node 'a' must have join: scope/)
    expect(await wrong('scope: [outer, inner]', 'scope: []')).toMatch(/^13: at least one node, or null/)
    expect(await wrong('set: { started: true }', "set: { started: '{{ 1 + }}' }")).toMatch(/^12: /)
    expect(await wrong('set: { started: true }', 'set: [started]')).toMatch(/^12: /)
    expect(await wrong('net: other, returns: last', 'net: other, mode: detached, returns: last')).toMatch(
      /^14: nothing waits for the result of a detached child/,
    )
    expect(await wrong('returns: last', 'returns: lst')).toMatch(/^14: the nested net has no node 'lst'/)
  })

  it('the work of an item of a list contains no programs', async () => {
    const each = '    next: l\n  l:\n    each: { items: [{ run: x, program: {} }] }'
    expect(await mistakes(each)).toEqual([expect.stringMatching(/^9: .*program/)])
  })
})
