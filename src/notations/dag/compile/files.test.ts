import { describe, expect, it } from 'vitest'
import { netHash } from '../../../kernel/hash.ts'
import { readInPlace } from '../../read.ts'
import type { Definition } from '../../source/definition.ts'
import type { DefinitionError } from '../../source/mistakes.ts'

/** Files by name; a name is resolved as NAME.yaml. */
class Folder {
  readonly files: Readonly<Record<string, string>>
  readonly asked: string[] = []

  constructor(files: Readonly<Record<string, string>>) {
    this.files = files
  }

  read(name: string): Promise<Definition> {
    return readInPlace(`${name}.yaml`, this.files[name] as string, {
      resolve: async (other) => {
        this.asked.push(other)
        const text = this.files[other]
        return text === undefined ? null : { file: `${other}.yaml`, text }
      },
      names: async () => Object.keys(this.files),
    })
  }

  /** `file:line:column message (hint)`; a problem without a file belongs to the file being read. */
  problems(name: string): Promise<readonly string[]> {
    return this.read(name).then(
      () => [],
      (error: DefinitionError) =>
        error.problems.map((p) => `${p.file ?? error.file}:${p.line}:${p.column} ${p.message} (${p.hint})`),
    )
  }
}

const flow = (name: string, steps: string, rest = ''): string =>
  `apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: ${name}, version: 2.1.0 }\nspec:\n${rest}  steps:\n${steps.replace(/^/gm, '    ')}\n`

describe('a step that is a workflow of another file', () => {
  it('is a child with that net, under the shorter of both timeouts, with the properties from its file', async () => {
    const folder = new Folder({
      order: flow('order', '- { name: pay }\n- { name: deliver, workflow: ship, dependsOn: [pay], timeout: 10m }'),
      ship: flow('ship', '- { name: pack }\n- { name: send, dependsOn: [pack] }', '  timeout: 1h\n'),
    })
    const { start } = await folder.read('order')
    const [net] = start.nets ?? []
    expect(start.net.nodes[1]?.work).toMatchObject({ kind: 'child', mode: 'attached', net: netHash(net as never) })
    expect([net?.name, net?.timeoutMs, net?.nodes.map((n) => n.key)]).toEqual(['ship', 600_000, ['pack', 'send']])
    expect(start.literals).toEqual({ deliver: { start: { meta: { version: '2.1.0' } } } })
  })

  it('is resolved after those of the same file, and its file is read once, however many steps name it', async () => {
    const folder = new Folder({
      main: flow(
        'main',
        '- { name: a, workflow: left }\n- { name: b, workflow: right }\n- { name: c, workflow: shared }',
        '  workflows: { right: { steps: [{ name: x, workflow: shared }] } }\n',
      ),
      left: flow('left', '- { name: y, workflow: shared }'),
      right: 'never read',
      shared: flow('shared', '- { name: z }'),
    })
    const { start } = await folder.read('main')
    expect(folder.asked.sort()).toEqual(['left', 'shared'])
    expect(start.nets?.map((n) => n.name).sort()).toEqual(['left', 'right', 'shared'])
  })

  it('may be of any notation, with the arguments in its file', async () => {
    const folder = new Folder({
      main: flow('main', '- { name: a, workflow: jobs }\n- { name: b, workflow: graph, dependsOn: [a] }'),
      jobs: 'type: chain\nname: jobs\nsteps:\n  - { type: order.check, args: [1] }\n  - { type: order.pay, args: [2] }\n',
      graph: 'kind: Net\nversion: 1\nname: graph\nnodes: { only: { run: some.work } }\n',
    })
    const { start } = await folder.read('main')
    expect(start.nets?.map((n) => [n.name, n.dialect])).toEqual([
      ['jobs', 'ojs'],
      ['graph', 'net'],
    ])
    expect(Object.keys(start.literals?.['a']?.start?.literals ?? {})).toHaveLength(2)
  })

  it('its results can be used, step by step', async () => {
    const files = {
      main: flow(
        'main',
        "- { name: a, workflow: inner }\n- { name: b, dependsOn: [a], with: '{{ results.a.total }}' }",
      ),
      inner: flow('inner', '- { name: totl }'),
    }
    expect(await new Folder(files).problems('main')).toEqual([
      "main.yaml:7:40 the workflow 'a' has no step 'total' (did you mean 'totl'?)",
    ])
  })
})

describe('mistakes across files', () => {
  it('of the other file are reported with its name and lines, once, next to those of this one', async () => {
    const folder = new Folder({
      main: flow(
        'main',
        '- { name: a, workflow: b }\n- { name: c, workflow: c }\n- { name: d, dependsOn: [aa] }\n- { name: e, onFailure: stop }',
      ),
      b: flow('b', '- { name: x, workflow: c }\n- { name: y, timeout: never }'),
      c: flow('c', '- { name: z, dependsOn: [q] }'),
    })
    const duration = 'for example 500ms, 30s, 5m, 2h or 1d; a bare number is milliseconds'
    expect(await folder.problems('main')).toEqual([
      "main.yaml:8:30 there is no step 'aa' (did you mean 'a'?)",
      "main.yaml:9:29 onFailure cannot be 'stop' (one of: abort, skip, compensate)",
      `b.yaml:7:27 timeout must be a duration, not 'never' (${duration})`,
      'c.yaml:6:5 no step can begin: every one depends on another (at least one step has no dependsOn)',
      "c.yaml:6:30 there is no step 'q' (steps: z)",
    ])
  })

  it('a file that cannot be read at all', async () => {
    const folder = new Folder({ main: flow('main', '- { name: a, workflow: b }'), b: 'steps: [' })
    const [problem] = await folder.problems('main')
    expect(problem).toMatch(/^b\.yaml:1:9 .*\(.+\)$/)
  })

  it('a workflow that contains itself is named, through files and nested workflows', async () => {
    const folder = new Folder({
      main: flow(
        'main',
        '- { name: a, workflow: inside }',
        '  workflows: { inside: { steps: [{ name: i, workflow: b }] } }\n',
      ),
      b: flow('b', '- { name: x, workflow: c }'),
      c: flow('c', '- { name: y, workflow: main }\n- { name: z, workflow: c }'),
    })
    expect(await folder.problems('main')).toEqual([
      "c.yaml:6:28 workflow 'main' contains itself: main → inside → b → c → main (remove one of these steps)",
      "c.yaml:7:28 workflow 'c' contains itself: c → c (remove one of these steps)",
    ])
  })

  it('the name of a workflow nested in another file is not a cycle', async () => {
    const folder = new Folder({
      main: flow('main', '- { name: a, workflow: b }', '  workflows: { b: { steps: [{ name: i, workflow: c }] } }\n'),
      c: flow('c', '- { name: y, workflow: b }'),
      b: flow('b', '- { name: z }'),
    })
    expect(await folder.problems('main')).toEqual([])
  })

  it('more than ten levels, each a file', async () => {
    const chain = (levels: number): Folder =>
      new Folder(
        Object.fromEntries(
          Array.from({ length: levels }, (_, i) => [
            `f${i + 1}`,
            flow(`f${i + 1}`, i + 1 === levels ? '- { name: x }' : `- { name: x, workflow: f${i + 2} }`),
          ]),
        ),
      )
    expect(await chain(10).problems('f1')).toEqual([])
    expect(await chain(11).problems('f1')).toEqual([
      'f10.yaml:6:28 workflows are nested more than 10 levels deep (make steps of the innermost)',
    ])
  })

  it('ten levels count from the outermost, whichever path reached a file first', async () => {
    const tail = Object.fromEntries(
      Array.from({ length: 9 }, (_, i) => [
        `t${i + 1}`,
        flow(`t${i + 1}`, i === 8 ? '- { name: x }' : `- { name: x, workflow: t${i + 2} }`),
      ]),
    )
    const main = (second: string): string =>
      flow('main', `- { name: a, workflow: t1 }\n- { name: b, workflow: ${second} }`)
    const between = flow('between', '- { name: x, workflow: t1 }')
    expect(await new Folder({ ...tail, main: main('t2') }).problems('main')).toEqual([])
    expect(await new Folder({ ...tail, between, main: main('between') }).problems('main')).toEqual([
      'main.yaml:6:5 workflows are nested more than 10 levels deep (make steps of the innermost)',
    ])
  })

  it('an unknown name, and a file with a different name', async () => {
    const folder = new Folder({
      main: flow(
        'main',
        '- { name: a, workflow: shiping }\n- { name: b, workflow: nothing-like-it }\n- { name: c, workflow: odd }',
      ),
      shipping: flow('shipping', '- { name: x }'),
      odd: flow('other', '- { name: x }'),
    })
    expect(await folder.problems('main')).toEqual([
      "main.yaml:6:28 there is no workflow 'shiping' (did you mean 'shipping'?)",
      "main.yaml:7:28 there is no workflow 'nothing-like-it' (one under spec.workflows, or a definition of its own)",
      "main.yaml:8:28 odd.yaml is workflow 'other', not 'odd' (one name for both)",
    ])
  })
})

describe('warnings across files', () => {
  it('are those of both, with the file', async () => {
    const folder = new Folder({
      main: flow('main', '- { name: a, workflow: b }\n- { name: c, workflow: d }'),
      b: flow('b', '- { name: x }', '  timeout: 1h\n'),
      d: flow('d', '- { name: y, timeout: 5m }'),
    })
    const { warnings = [] } = await folder.read('main')
    expect(warnings.map((w) => [w.file ?? 'main.yaml', w.line, w.rule, w.message])).toEqual([
      ['main.yaml', 7, 'no_timeout', "step 'c' has no timeout: it can hang indefinitely"],
      ['b.yaml', 7, 'no_timeout', "step 'x' has no timeout: it can hang indefinitely"],
    ])
  })
})
