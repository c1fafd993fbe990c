import { describe, expect, it } from 'vitest'
import { netHash } from '../../../kernel/hash.ts'
import type { Node } from '../../../net/net.ts'
import { readInPlace } from '../../read.ts'
import type { Definition } from '../../source/definition.ts'
import type { DefinitionError } from '../../source/mistakes.ts'

/** Files by path, resolved as they are named. */
class Folder {
  readonly files: Readonly<Record<string, string>>
  readonly asked: string[] = []

  constructor(files: Readonly<Record<string, string>>) {
    this.files = files
  }

  read(path: string, strict = false): Promise<Definition> {
    return readInPlace(path, this.files[path] as string, {
      strict,
      resolve: (other) => {
        this.asked.push(other)
        const text = this.files[other] ?? this.files[`${other}.yaml`]
        return text === undefined ? null : { file: other.replace(/(\.yaml)?$/, '.yaml'), text }
      },
      names: () => Object.keys(this.files),
    })
  }

  /** `file:line:column message (hint)`; a problem without a file belongs to the file being read. */
  problems(path: string): Promise<readonly string[]> {
    return this.read(path).then(
      () => [],
      (error: DefinitionError) =>
        error.problems.map((p) => `${p.file ?? error.file}:${p.line}:${p.column} ${p.message} (${p.hint})`),
    )
  }

  async warnings(path: string): Promise<readonly string[]> {
    const { warnings = [] } = await this.read(path)
    return warnings.map((w) => `${w.file ?? path}:${w.line}:${w.column} ${w.message} (${w.hint})`)
  }
}

const book = (name: string, steps: string, rest = ''): string =>
  `apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: ${name} }\n${rest}workflow:\n${steps.replace(/^(?=.)/gm, '  ')}\n`

const CHILD = book(
  'child',
  '- { step: work, tool: { kind: shell, cmd: ls }, next: { arcs: [{ step: done }] } }\n- { step: done, tool: { kind: noop } }\n',
  'workload: { n: 1 }\n',
)

const call = (fields: string, more = ''): string => `- step: call\n${more}  tool: { kind: playbook, ${fields} }`

async function node(folder: Folder, path = 'main.yaml'): Promise<Node> {
  return (await folder.read(path)).start.net.nodes[0] as Node
}

describe('a step that is a playbook', () => {
  it('with return_step the step waits for it and has its results', async () => {
    const folder = new Folder({
      'main.yaml': book(
        'main',
        call('path: child, return_step: done, input: { n: "{{ workload.m }}" }'),
        'workload: { m: 2 }\n',
      ),
      'child.yaml': CHILD,
    })
    const { start } = await folder.read('main.yaml')
    const [net] = start.nets ?? []
    expect(start.net.nodes[0]?.work).toEqual({
      kind: 'child',
      net: netHash(net as never),
      mode: 'attached',
      input: { n: '{{ workload.m }}' },
      returns: 'done',
    })
    expect([net?.name, net?.input]).toEqual(['child', { n: 1 }])
  })

  it('without return_step continues at once', async () => {
    const folder = new Folder({ 'main.yaml': book('main', call('path: child')), 'child.yaml': CHILD })
    const { work, retry, onFailure } = await node(folder)
    expect(work).toMatchObject({ kind: 'child', mode: 'detached', input: {} })
    expect(work).not.toHaveProperty('returns')
    expect([retry, onFailure]).toEqual([null, 'route'])
  })

  it('receives the input of the step merged below that of the tool; its sets of the task become sets of the step', async () => {
    const steps = `- step: call
  input: { a: 1, b: 1 }
  tool: { kind: playbook, path: child, args: { b: "{{ ctx.b }}" }, set: { ctx.x: "{{ output.n }}" } }
  set: { ctx.y: 2 }`
    const { work, set } = await node(new Folder({ 'main.yaml': book('main', steps), 'child.yaml': CHILD }))
    expect(work).toMatchObject({ input: { a: 1, b: '{{ ctx.b }}' } })
    expect(set).toEqual({ x: '{{ output.n }}', y: 2 })
  })

  it('in a loop is the body: attached, one for each item', async () => {
    const steps = call(
      'path: child, return_step: work, input: { n: "{{ iter.x }}", i: "{{ x }}" }',
      '  loop: { in: "{{ workload.l }}", iterator: x, spec: { mode: parallel, max_in_flight: 2 } }\n',
    )
    const { work } = await node(new Folder({ 'main.yaml': book('main', steps), 'child.yaml': CHILD }))
    expect(work).toMatchObject({
      kind: 'each',
      items: '{{ workload.l }}',
      as: 'x',
      maxInFlight: 2,
      collect: 'list',
      body: { kind: 'child', mode: 'attached', returns: 'work', input: { n: '{{ iter.x }}', i: '{{ x }}' } },
    })
    expect(work).not.toHaveProperty('shared')
  })

  it.each([
    ['its own', 'path: child, timeout: 90', '', 90_000],
    ['that of the step', 'path: child, timeout: 90', '  spec: { timeout: 5 }\n', 5000],
    ['that of the task', 'path: child, spec: { timeout: 7 }', '', 7000],
  ])('has the shortest timeout: %s', async (_, fields, more, timeoutMs) => {
    const folder = new Folder({ 'main.yaml': book('main', call(fields, more)), 'child.yaml': CHILD })
    expect((await folder.read('main.yaml')).start.nets?.map((n) => n.timeoutMs)).toEqual([timeoutMs])
  })

  it.each([
    ['under its literal path', './sub/child.yaml', './sub/child.yaml'],
    ['without its ending', 'sub/child.yaml', 'sub/child'],
    ['by its last part', 'catalog/of/child', 'child'],
    ['from the root', '/sub/child', 'sub/child'],
  ])('is found %s', async (_, path, name) => {
    const folder = new Folder({ 'main.yaml': book('main', call(`path: ${path}`)), [name]: CHILD })
    expect((await folder.read('main.yaml')).start.nets?.map((n) => n.name)).toEqual(['child'])
  })

  it('can be named by the workload of the file; the workload at the start changes nothing', async () => {
    const text = book('main', call('path: "{{ worker_path }}"'), 'workload: { worker_path: sub/child }\n')
    const folder = new Folder({ 'main.yaml': text, 'sub/child.yaml': CHILD })
    expect(await folder.warnings('main.yaml')).toEqual([
      "main.yaml:7:35 the path of a playbook is fixed: it is 'sub/child', whatever the workload is at the start (path: sub/child)",
    ])
    await expect(folder.read('main.yaml', true)).rejects.toMatchObject({ problems: [{ line: 7 }] })
  })

  it('may be a definition of another notation', async () => {
    const flow =
      'apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: ship, version: "2" }\nspec: { steps: [{ name: pack, timeout: 5m }] }\n'
    const folder = new Folder({ 'main.yaml': book('main', call('path: ship, return_step: pack')), ship: flow })
    const { start } = await folder.read('main.yaml')
    expect(start.nets?.map((n) => n.dialect)).toEqual(['dag'])
    expect(start.literals).toEqual({ call: { start: { meta: { version: '2' } } } })
  })

  it('reports the warnings and the mistakes of its file with that file’s name', async () => {
    const folder = new Folder({
      'main.yaml': book('main', call('path: child')),
      'child.yaml': book('child', '- { step: a, next: b }\n- { step: b, tool: { kind: noop } }'),
      'broken.yaml': book('broken', call('path: bad')),
      'bad.yaml': book('bad', '- { step: a, tool: { kind: nothing } }'),
    })
    expect(await folder.warnings('main.yaml')).toEqual([
      'child.yaml:5:22 next has arcs; this is the name of a step (next: { arcs: [{ step: b }] })',
    ])
    const [problem, ...others] = await folder.problems('broken.yaml')
    expect(problem).toMatch(/^bad\.yaml:5:30 there is no kind 'nothing'/)
    expect(others).toEqual([])
  })
})

describe('mistakes between playbooks', () => {
  const main = async (steps: string, rest = ''): Promise<readonly string[]> =>
    new Folder({ 'main.yaml': book('main', steps, rest), 'child.yaml': CHILD }).problems('main.yaml')

  it.each([
    ['no path', call('input: {}'), ['main.yaml:6:11 kind playbook needs a path (path: load_orders.yaml)']],
    ['nothing there', call('path: chil'), ["main.yaml:6:35 there is no playbook 'chil' (did you mean 'child.yaml'?)"]],
    [
      'nothing near there',
      call('path: elsewhere/entirely'),
      ["main.yaml:6:35 there is no playbook 'elsewhere/entirely' (a file beside this one, or a deployed definition)"],
    ],
    [
      'a path known only at run time',
      call('path: "{{ ctx.path }}"'),
      ['main.yaml:6:35 the path of a playbook is fixed (a text, or a key of the workload that is given here)'],
    ],
    [
      'a return_step that is not there',
      call('path: child, return_step: don'),
      ["main.yaml:6:55 'child' has no step 'don' that could be reached (did you mean 'done'?)"],
    ],
    [
      'next to other tasks',
      '- step: call\n  tool:\n    - { name: first, kind: shell, cmd: ls }\n    - { name: second, kind: playbook, path: child }',
      ['main.yaml:8:9 a playbook must be the only task of its step (make a step of its own of this task)'],
    ],
    [
      'with rules',
      '- step: call\n  tool:\n    kind: playbook\n    path: child\n    spec: { policy: { rules: [{ else: { then: { do: retry } } }] } }',
      ['main.yaml:9:13 a playbook has no rules (arcs route on its end: when: "{{ event.name == \'step.failed\' }}")'],
    ],
    [
      'with a set of one run',
      call('path: child, set: { iter.x: 1 }'),
      ["main.yaml:6:47 'iter.x' cannot be set here (ctx.name)"],
    ],
    [
      'with an invalid timeout',
      call('path: child, timeout: soon'),
      [
        "main.yaml:6:51 timeout must be a time longer than zero, not 'soon' (seconds as a number, or for example 500ms, 30s, 5m)",
      ],
    ],
  ])('%s', async (_, steps, expected) => {
    expect(await main(steps)).toEqual(expected)
  })

  it('one that contains itself, directly or not, however it is named', async () => {
    const folder = new Folder({
      'self.yaml': book('self', call('path: ./self.yaml')),
      'a.yaml': book('alpha', call('path: sub/b')),
      'sub/b.yaml': book('beta', `- { step: x, tool: { kind: noop } }\n${call('path: a')}`),
    })
    expect(await folder.problems('self.yaml')).toEqual([
      'self.yaml:6:35 the playbook contains itself: self → self (remove one of these steps)',
    ])
    expect(await folder.problems('a.yaml')).toEqual([
      'sub/b.yaml:7:35 the playbook contains itself: alpha → beta → alpha (remove one of these steps)',
    ])
  })

  it('ten levels are the maximum', async () => {
    const files: Record<string, string> = { 'p11.yaml': book('p11', '- { step: a, tool: { kind: noop } }') }
    for (let i = 1; i <= 10; i++) files[`p${i}.yaml`] = book(`p${i}`, call(`path: p${i + 1}`))
    const folder = new Folder(files)
    expect(await folder.problems('p2.yaml')).toEqual([])
    expect(await folder.problems('p1.yaml')).toEqual([
      'p10.yaml:6:35 playbooks are nested more than 10 levels deep (make steps of the innermost)',
    ])
  })

  it('ten levels are the maximum, also if one was read before', async () => {
    const files: Record<string, string> = { 'p10.yaml': book('p10', '- { step: a, tool: { kind: noop } }') }
    for (let i = 2; i <= 9; i++) files[`p${i}.yaml`] = book(`p${i}`, call(`path: p${i + 1}`))
    // p2 has nine levels: read first where it fits, then named one level deeper.
    files['between.yaml'] = book('between', call('path: p2'))
    files['main.yaml'] = book('main', `${call('path: p2')}\n- { step: again, tool: { kind: playbook, path: between } }`)
    expect(await new Folder(files).problems('main.yaml')).toEqual([
      'between.yaml:6:35 playbooks are nested more than 10 levels deep (make steps of the innermost)',
    ])
  })

  it('a loop over one, or a final one, is waited for: the missing return_step is reported', async () => {
    const loop = call('path: child', '  loop: { in: [1], iterator: x }\n')
    const folder = new Folder({ 'main.yaml': book('main', loop), 'child.yaml': CHILD })
    expect(await folder.warnings('main.yaml')).toEqual([
      'main.yaml:7:35 a playbook in a loop is waited for, return_step or not (return_step: the step whose result is wanted)',
    ])
    const steps = `- { step: a, tool: { kind: noop } }\n${call('path: child')}`
    const final = new Folder({
      'main.yaml': book('main', steps, 'executor: { spec: { final_step: call } }\n'),
      'child.yaml': CHILD,
    })
    expect(await final.warnings('main.yaml')).toEqual([
      'main.yaml:8:35 a playbook that is the final step is waited for, return_step or not (return_step: the step whose result is wanted)',
    ])
    expect((await final.read('main.yaml')).start.net.nodes[1]?.work).toMatchObject({ kind: 'child', mode: 'attached' })
  })

  it('its sets in a loop are not applied for each item, which is reported', async () => {
    const set = 'path: child, return_step: a, set: { ctx.sum: "{{ output.a }}" }'
    const child = book('child', '- { step: a, tool: { kind: noop } }')
    const looped = call(set, '  loop: { in: [1], iterator: x }\n')
    const folder = new Folder({ 'main.yaml': book('main', looped), 'child.yaml': child })
    expect(await folder.warnings('main.yaml')).toEqual([
      expect.stringMatching(/^main.yaml:7:\d+ set of a playbook in a loop is written once, when the loop has ended/),
    ])
    const plain = new Folder({ 'main.yaml': book('main', call(set)), 'child.yaml': child })
    expect(await plain.warnings('main.yaml')).toEqual([])
  })

  it('fields that a playbook does not have', async () => {
    const folder = new Folder({
      'main.yaml': book('main', call('path: child, retrn_step: done, cmd: ls')),
      'child.yaml': CHILD,
    })
    expect(await folder.warnings('main.yaml')).toEqual([
      "main.yaml:6:42 a playbook has no field 'retrn_step'; it is ignored (did you mean 'return_step'?)",
      "main.yaml:6:60 a playbook has no field 'cmd'; it is ignored (fields: path, input, return_step, timeout)",
    ])
  })
})
