import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Outcomes, readOutcomes } from '../../src/cli/run/outcomes.ts'
import { DefinitionError } from '../../src/notations/source/mistakes.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { root, shell } from './petrel.ts'

const sh = shell()

/** The mistakes, each as `line:column path: message (hint)`. */
async function mistakes(text: string): Promise<readonly string[]> {
  try {
    await readDefinition('file.yaml', text)
    return []
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    return error.problems.map(
      (p) => `${p.line}:${p.column} ${p.path}: ${p.message}${p.hint === null ? '' : ` (${p.hint})`}`,
    )
  }
}

describe('petrel check', () => {
  it('accepts the examples and describes them', async () => {
    const { code, out } = await sh.petrel(
      'check',
      join(root, 'examples/order.chain.yaml'),
      join(root, 'examples/publish.net.yaml'),
    )
    expect(code).toBe(0)
    expect(out).toMatch(/order\.chain\.yaml: valid, ojs 'order'/)
    expect(out).toMatch(/publish\.net\.yaml: valid, net 'publish', 5 nodes, types doc\.draft/)
  })

  it('prints problems as FILE:LINE:COLUMN with a suggestion, and exits 2', async () => {
    sh.write(
      'bad.yaml',
      'kind: Net\nversion: 1\nnodes:\n  pay:\n    run: order.pay\n    retires: 3\n    next: shipp\n  ship: { run: order.ship }\n',
    )
    const { code, out } = await sh.petrel('check', 'bad.yaml')
    expect(code).toBe(2)
    expect(out).toBe("bad.yaml:6:5: nodes.pay.retires: node 'pay' has no key 'retires'\n  did you mean 'retry'?\n")
  })

  it('refuses a file that is not UTF-8 and names the byte, also for a file it refers to and for an input', async () => {
    const latin = join(sh.dir, 'latin.playbook.yaml')
    const head = 'apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: latin }\n'
    writeFileSync(latin, Buffer.from(`${head}workflow: [{ step: caf\xe9, tool: { kind: noop } }]\n`, 'latin1'))
    const place = '4:23: the file is not UTF-8: the byte here begins no character\n  save the file as UTF-8\n'
    const checked = await sh.petrel('check', 'latin.playbook.yaml')
    expect([checked.code, checked.out]).toEqual([2, `latin.playbook.yaml:${place}`])
    const deployed = await sh.petrel('deploy', 'latin.playbook.yaml', '--store', 'sqlite::memory:')
    expect([deployed.code, deployed.err]).toEqual([2, expect.stringContaining('latin.playbook.yaml:4:23')])
    writeFileSync(join(sh.dir, 'input.json'), Buffer.from('{ "name": "caf\xe9" }', 'latin1'))
    const run = await sh.petrel('run', join(root, 'examples/order.chain.yaml'), '--mock', '--input', '@input.json')
    expect([run.code, run.err]).toEqual([2, expect.stringContaining('input.json is not UTF-8, see line 1, column 15')])
  })

  it('resolves referenced files next to the file that names them, and deployed definitions with --store', async () => {
    const head = 'apiVersion: noetl.io/v2\nkind: Playbook\n'
    const child = `${head}metadata: { name: checked-child }\nworkflow: [{ step: only, tool: { kind: noop } }]\n`
    sh.write('elsewhere.txt', child)
    const call = '{ kind: playbook, path: checked-child, return_step: only }'
    sh.write('parent.yaml', `${head}metadata: { name: parent }\nworkflow: [{ step: call, tool: ${call} }]\n`)
    const store = ['--store', `sqlite:${join(sh.dir, 'checked.db')}`]
    expect((await sh.petrel('deploy', 'elsewhere.txt', ...store)).code).toBe(0)
    const alone = await sh.petrel('check', 'parent.yaml')
    expect([alone.code, alone.out]).toEqual([2, expect.stringContaining('checked-child')])
    const found = await sh.petrel('check', 'parent.yaml', ...store)
    expect([found.code, found.out]).toEqual([0, expect.stringContaining("parent.yaml: valid, playbook 'parent'")])
    const none = await sh.petrel('check', 'parent.yaml', '--store', 'sqlite:none.db')
    expect([none.code, none.err]).toEqual([3, expect.stringContaining('there is no database none.db')])
  })

  it('prints the same content as JSON', async () => {
    sh.write(
      'target.yaml',
      'kind: Net\nversion: 1\nnodes:\n  pay: { run: order.pay, next: shipp }\n  ship: { run: order.ship }\n',
    )
    const { code, json } = await sh.petrel('check', 'target.yaml', '--json')
    expect(code).toBe(2)
    expect(json()).toEqual({
      file: 'target.yaml',
      valid: false,
      problems: [
        {
          line: 4,
          column: 32,
          path: 'nodes.pay.next',
          message: "there is no node 'shipp'",
          hint: "did you mean 'ship'?",
        },
      ],
    })
  })

  it('uses the same messages as `run` for an invalid file', async () => {
    sh.write('worse.yaml', 'kind: Net\nversion: 2\nnodes: {}\n')
    const { code, err } = await sh.petrel('run', 'worse.yaml', '--mock')
    expect(code).toBe(2)
    expect(err).toContain('worse.yaml:2:10: version: the version of this notation is 1')
  })
})

describe('mistakes in a net', () => {
  it('are all reported in one pass, in the order of the file', async () => {
    expect(
      await mistakes(`kind: Net
version: 1
onFailure: undo
nodes:
  a:
    run: { typ: x }
    timeout: soon
    retry: many
  b:
    run: x
    gate: true
  c:
    gate: Sure?
    queue: slow
    next: { first: [{ when: x }] }
finals: a
`),
    ).toEqual([
      "3:12 onFailure: onFailure cannot be 'undo' (one of: abort, compensate, retry)",
      '6:10 nodes.a.run: a run needs the type of its handler (for example run: order.validate)',
      "6:12 nodes.a.run.typ: a run has no key 'typ' (did you mean 'type'?)",
      "7:14 nodes.a.timeout: timeout must be a duration, not 'soon' (for example 500ms, 30s, 5m, 2h or 1d; a bare number is milliseconds)",
      "8:12 nodes.a.retry: a retry policy must be a mapping, not 'many' (keys: maxAttempts, backoff, initial, coefficient, max, jitter, nonRetryable, retryOn, deadLetter)",
      "10:5 nodes.b: node 'b' does two things at once: run and gate (a node does one; connect two with next)",
      "14:12 nodes.c.queue: 'queue' belongs to a run, node 'c' is a gate",
      '15:21 nodes.c.next.first[0]: an arc names its target ({ to: node, when: guard })',
      "16:9 finals: finals must be a list, not 'a' (write [a])",
    ])
  })

  it.each([
    [
      'an unreachable node',
      '  a: { run: x }\n  b: { run: y, next: c }\n  c: { run: z, next: b }\n',
      '5:6 nodes.b: no path leads here from an entry',
    ],
    [
      'a cycle of passes',
      '  a: { run: x, next: b }\n  b: { pass: , next: c }\n  c: { pass: , next: b }\n',
      '5:6 nodes.b: pass nodes form a cycle that does no work: b → c → b',
    ],
    [
      'a guard that does not parse',
      "  a: { run: x, next: { to: b, when: 'input.x >' } }\n  b: { run: y }\n",
      '4:37 nodes.a.next.when: ',
    ],
    [
      'a guard before a count join',
      '  a: { run: x, next: { first: [{ to: b, when: input.x }] } }\n  b: { run: y, join: count }\n',
      "4:22 nodes.a.next: guards are not allowed on the way to count join 'b'",
    ],
    [
      'an undefined child',
      '  a: { child: sub }\n',
      "4:15 nodes.a.child: there is no net 'sub' (nested nets are under `nets:`)",
    ],
    [
      'an unquoted template',
      '  a: { run: x, args: {{ input }} }\n',
      '4:23 : a template needs quotes: without them YAML reads {{ … }} as a mapping (write "{{ … }}")',
    ],
    [
      'a final that is a gate',
      '  a: { run: x }\n  g: { gate: Sure? }\nfinals: [g]\n',
      "6:10 finals[0]: a final is a run, a child or a pass; node 'g' is a gate",
    ],
  ])('%s', async (_, nodes, expected) => {
    const found = await mistakes(`kind: Net\nversion: 1\nnodes:\n${nodes}`)
    expect(
      found.some((line) => line.startsWith(expected)),
      found.join('\n'),
    ).toBe(true)
  })

  it('a net that contains itself is refused', async () => {
    const text =
      'kind: Net\nversion: 1\nnodes: { a: { child: one } }\nnets:\n  one: { nodes: { b: { child: two } } }\n  two: { nodes: { c: { child: one } } }\n'
    expect(await mistakes(text)).toEqual([
      "6:31 nets.two.nodes.c.child: net 'one' contains itself: one → two → one (repeat work with an each or an arc back)",
    ])
  })

  it('every nested net is built once and shared by reference', async () => {
    const text =
      'kind: Net\nversion: 1\nnodes: { a: { child: one, next: b }, b: { child: { net: one, mode: detached } } }\nnets:\n  one: { nodes: { x: { run: y } } }\n'
    const { start } = await readDefinition('twice.yaml', text)
    expect(start.nets).toHaveLength(1)
    expect(start.net.nodes.map((n) => n.work)).toMatchObject([
      { kind: 'child', mode: 'attached' },
      { kind: 'child', mode: 'detached' },
    ])
  })
})

describe('defaults of a net', () => {
  it('are filled in: entry, joins, queue, priority, retry', async () => {
    const { name, start } = await readDefinition(
      'dir/short.net.yaml',
      'kind: Net\nversion: 1\nnodes:\n  a: { run: x, retry: 5, timeout: 90s, next: [b, c] }\n  b: { run: y }\n  c: { pass: }\n',
    )
    expect(name).toBe('short')
    expect(start.net.entry).toEqual(['a'])
    expect(start.net.nodes[0]).toMatchObject({
      work: { kind: 'run', type: 'x', queue: 'default', priority: 100, delayMs: 0, args: null },
      join: 'each',
      retry: { maxAttempts: 5, backoff: 'exponential', initialMs: 1000 },
      timeout: { ms: 90_000, per: 'attempt' },
      next: {
        mode: 'every',
        arcs: [
          { to: 'b', when: null },
          { to: 'c', when: null },
        ],
      },
    })
  })

  it('literal items of an each are stored outside the net', async () => {
    const { start } = await readDefinition(
      'f.yaml',
      'kind: Net\nversion: 1\nnodes:\n  a: { each: { items: [1, 2], run: x } }\n  b: { each: { items: [{ run: y, args: [1] }] } }\n',
    )
    expect(start.items).toMatchObject({ a: [1, 2], b: [{ run: { type: 'y', args: [1] } }] })
    expect(JSON.stringify(start.net)).not.toContain('"items":[')
  })
})

describe('mistakes in a workflow of jobs', () => {
  it.each([
    ['an unknown kind', 'type: chian\nsteps: []\n', "1:7 type: unknown type 'chian' (did you mean 'chain'?)"],
    ['nothing that names a notation', 'steps: []\n', '1:1 : this is not a definition of any known notation'],
    ['a list', '- a\n', '1:1 : this is not a definition of any known notation'],
    ['an empty chain', 'type: chain\nsteps: []\n', '2:8 steps: steps array must contain at least one element'],
    ['no steps', 'type: chain\n', '1:1 steps: a chain needs steps'],
    ['jobs in a chain', 'type: chain\njobs: []\n', "2:1 jobs: a chain has no key 'jobs'"],
    ['a job without a type', 'type: chain\nsteps:\n  - args: [1]\n', '3:5 steps[0]: a job needs a type'],
    [
      'a misspelt option',
      'type: group\njobs:\n  - { type: a.b, options: { que: x } }\n',
      "3:29 jobs[0].options.que: options has no key 'que' (did you mean 'queue'?)",
    ],
    ['a batch without callbacks', 'type: batch\njobs: [{ type: a.b }]\n', '1:1 callbacks: a batch needs callbacks'],
    [
      'a duration without a unit',
      'type: chain\nsteps: [{ type: a.b, timeout: "5" }]\n',
      "2:31 steps[0].timeout: timeout must be a duration, not '5'",
    ],
    ['a tab', 'type: chain\nsteps:\n\t- x\n', '3:1 : '],
    ['a key twice', 'type: chain\ntype: group\n', '2:1 type: Map keys must be unique (keep one of the two)'],
    ['broken JSON', '{"type": "chain", "steps": [}', '1:29 : '],
  ])('%s', async (_, text, expected) => {
    const found = await mistakes(text)
    expect(
      found.some((line) => line.startsWith(expected)),
      found.join('\n'),
    ).toBe(true)
  })

  it('an eleventh level of nesting is refused, with its path', async () => {
    let text = '{"type":"chain","steps":[{"type":"a.b"}]}'
    for (let i = 0; i < 5; i++) text = `{"type":"chain","steps":[{"type":"group","jobs":[${text}]}]}`
    expect(await mistakes(text)).toEqual([expect.stringContaining('workflows nest at most 10 levels deep')])
  })

  it('a file nested thousands of levels deep is refused without a crash', async () => {
    expect((await mistakes('['.repeat(100_000))).length).toBeGreaterThan(0)
    expect(
      await mistakes(
        'a: &a [x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b, *b]\nd: &d [*c, *c, *c, *c]\ne: &e [*d, *d, *d, *d]\nf: [*e, *e, *e, *e]\n',
      ),
    ).toHaveLength(1)
  })
})

describe('the documentation', () => {
  const blocks = (file: string): readonly string[] =>
    [...readFileSync(join(root, 'docs', file), 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g)].map((m) => m[1] as string)

  it('contains only valid definitions', async () => {
    const definitions = blocks('definitions.md')
    expect(definitions.length).toBeGreaterThanOrEqual(2)
    for (const text of definitions) expect(await mistakes(text)).toEqual([])
  })

  it('contains a valid outcomes file', () => {
    const [text] = blocks('cli.md')
    expect(readOutcomes('cli.md', text as string, new Set(['payment.charge', 'approve']))).toBeInstanceOf(Outcomes)
  })
})
