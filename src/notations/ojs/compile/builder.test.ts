import { describe, expect, it } from 'vitest'
import { PetrelError } from '../../../kernel/errors.ts'
import { netHash } from '../../../kernel/hash.ts'
import { compileNet } from '../../../net/compile.ts'
import { buildWorkflow } from './builder.ts'
import {
  type BatchTree,
  type ChainTree,
  DEFAULT_RETRY,
  type GroupTree,
  type JobOptions,
  type JobTree,
  type Tree,
} from './tree.ts'

const job = (type: string, args: JobTree['args'] = null, options: JobOptions = {}): JobTree => ({
  kind: 'job',
  type,
  args,
  options,
})
const chain = (...steps: Tree[]): ChainTree => ({ kind: 'chain', steps })
const group = (...jobs: Tree[]): GroupTree => ({ kind: 'group', jobs })
const batch = (jobs: Tree[], callbacks: Partial<BatchTree>): BatchTree => ({
  kind: 'batch',
  jobs,
  onComplete: null,
  onSuccess: null,
  onFailure: null,
  ...callbacks,
})

/** Every net of a workflow must be valid. */
function build(tree: Tree) {
  const built = buildWorkflow(tree)
  for (const net of [built.start.net, ...built.start.nets]) compileNet(net)
  return built
}

function refusal(tree: Tree): PetrelError {
  try {
    buildWorkflow(tree)
  } catch (error) {
    if (error instanceof PetrelError) return error
  }
  throw new Error('it was accepted')
}

describe('a chain', () => {
  it('is a node for each step, an arc from each to the next, and aborts', () => {
    const { start, shape } = build(chain(job('a', 1), job('b', { x: 2 }), job('c')))
    const { net } = start
    expect(net).toMatchObject({ dialect: 'ojs', name: 'chain', entry: ['0'], finals: [], onFailure: 'abort' })
    expect(net.nodes.map((n) => [n.key, n.next.arcs.map((a) => a.to)])).toEqual([
      ['0', ['1']],
      ['1', ['2']],
      ['2', []],
    ])
    expect(start.literals).toEqual({ 0: { args: 1 }, 1: { args: { x: 2 } }, 2: { args: null } })
    expect(shape).toEqual({ last: '2', of: null })
  })

  it('carries the options of its steps, with the default retry if none is given', () => {
    const options = { queue: 'q', priority: 5, delayMs: 10, timeoutMs: 99, limitKey: 'k', retry: { maxAttempts: 7 } }
    const [node] = build(job('a', 1, { ...options, meta: { tag: 'x' } })).start.net.nodes
    expect(node).toMatchObject({
      work: { kind: 'run', type: 'a', queue: 'q', priority: 5, delayMs: 10, args: null, limitKey: 'k' },
      timeout: { ms: 99, per: 'attempt' },
      retry: { ...DEFAULT_RETRY, maxAttempts: 7 },
    })
    expect(build(job('a', 1, { meta: { tag: 'x' } })).start.literals).toEqual({ 0: { args: 1, meta: { tag: 'x' } } })
    expect(build(job('a')).start.net.nodes[0]?.retry).toEqual(DEFAULT_RETRY)
  })

  it('has the same net as any other of its structure, whatever the arguments', () => {
    const one = build(chain(job('a', 1), job('b', 2))).start.net
    const other = build(chain(job('a', 'x'), job('b', [3]))).start.net
    expect(netHash(one)).toBe(netHash(other))
    expect(one).toBe(other)
    expect(netHash(build(chain(job('b'), job('a'))).start.net)).not.toBe(netHash(one))
  })
})

describe('a group', () => {
  it('is one node over its jobs', () => {
    const { start, shape } = build(group(job('a', 1), job('b', 2, { queue: 'q', timeoutMs: 5, meta: { m: 1 } })))
    expect(start.net.nodes).toHaveLength(1)
    expect(start.net.nodes[0]).toMatchObject({
      key: 'jobs',
      onFailure: 'net',
      work: { kind: 'each', items: null, body: null },
    })
    expect(start.items).toEqual({
      jobs: [
        { run: { type: 'a', args: 1, retry: DEFAULT_RETRY } },
        { run: { type: 'b', args: 2, queue: 'q', timeoutMs: 5, retry: DEFAULT_RETRY, meta: { m: 1 } } },
      ],
    })
    expect(shape).toEqual({ each: 'jobs', count: 2, of: {} })
  })

  it('has the same net as any other group', () => {
    expect(build(group(job('a'))).start.net).toBe(build(group(job('b'), job('c'))).start.net)
  })
})

describe('a batch', () => {
  it('handles failures by arcs and takes its verdict from its callbacks', () => {
    const tree = batch([job('a', 1)], { onComplete: job('done', 'x'), onFailure: job('sorry') })
    const { start } = build(tree)
    expect(start.net).toMatchObject({
      verdict: { failedOn: 'finals', partial: false },
      finals: [
        { node: 'on_complete', when: 'always', onFailure: 'fail' },
        { node: 'on_failure', when: 'failure', onFailure: 'fail' },
      ],
    })
    expect(start.net.nodes.map((n) => [n.key, n.onFailure])).toEqual([
      ['jobs', 'route'],
      ['on_complete', 'net'],
      ['on_failure', 'net'],
    ])
    const own = { each: 'jobs', count: 1, of: {} }
    expect(start.literals['on_complete']).toEqual({ args: 'x', meta: { petrel: { own } } })
  })
})

describe('nested workflows', () => {
  it('a group inside a chain is a child node; the step after it receives its shape', () => {
    const { start, shape } = build(chain(job('a'), group(job('b', 1), job('c', 2)), job('d', 3, { meta: { m: 1 } })))
    const [inner] = start.nets
    expect(start.net.nodes[1]?.work).toEqual({ kind: 'child', net: netHash(inner!), mode: 'attached', input: null })
    expect(start.literals['1']).toMatchObject({
      start: { items: { jobs: [{ run: { type: 'b' } }, { run: { type: 'c' } }] } },
    })
    const before = { each: 'jobs', count: 2, of: {} }
    expect(start.literals['2']).toEqual({ args: 3, meta: { m: 1, petrel: { previous: before, nodes: { 1: before } } } })
    expect(shape).toEqual({ last: '2', of: null })
  })

  it('a chain inside a group is an item with a separate start', () => {
    const { start, shape } = build(group(job('a'), chain(job('b', 1), job('c', 2))))
    const [inner] = start.nets
    expect(start.items.jobs?.[1]).toEqual({
      child: netHash(inner!),
      start: { literals: { 0: { args: 1 }, 1: { args: 2 } } },
    })
    expect(shape).toEqual({ each: 'jobs', count: 2, of: { 1: { last: '1', of: null } } })
  })

  it('members of a nested group receive the shape of the step before it', () => {
    const { start } = build(chain(chain(job('a')), group(job('b'))))
    const literal = start.literals['1'] as { start: { items: { jobs: { run: { meta: unknown } }[] } } }
    expect(literal.start.items.jobs[0]?.run.meta).toEqual({ petrel: { previous: { last: '0', of: null } } })
  })

  it('every net appears once, the root separately', () => {
    const { start } = build(group(group(job('a')), group(job('b')), chain(job('c')), chain(job('c'))))
    // The inner groups have the net of the root.
    expect(start.nets.map((n) => n.name)).toEqual(['chain'])
  })

  it('nest ten levels deep and no deeper', () => {
    const nested = (levels: number): Tree => (levels === 1 ? chain(job('a')) : group(nested(levels - 1)))
    expect(build(nested(10)).start.nets.length).toBeGreaterThan(0)
    const error = refusal(nested(11))
    expect(error.code).toBe('too_deep')
    expect(error.message).toBe(`group${'.jobs[0]'.repeat(10)}: workflows nest at most 10 levels deep`)
  })
})

describe('properties of a workflow in addition to its net', () => {
  it('times and envelopes of its jobs are stored outside the net, so that it is shared', () => {
    const timed = job('a', [1], { runAt: 5, expiresAt: 9, envelope: { tags: ['x'] } })
    const one = build(chain(timed, job('b'))).start
    expect(one.net).toBe(build(chain(job('a'), job('b'))).start.net)
    expect(one.literals['0']).toEqual({ args: [1], runAt: 5, expiresAt: 9, meta: { petrel: { ojs: { tags: ['x'] } } } })
    const [item] = build(group(timed)).start.items['jobs'] ?? []
    expect(item).toEqual({
      run: {
        type: 'a',
        args: [1],
        runAt: 5,
        expiresAt: 9,
        retry: DEFAULT_RETRY,
        meta: { petrel: { ojs: { tags: ['x'] } } },
      },
    })
  })

  it('the number of its jobs, including nested workflows and excluding callbacks', () => {
    expect(build(chain(job('a'), job('b')))).toMatchObject({ jobs: 2, nested: false })
    const inner = batch([job('b'), chain(job('c'), job('d'))], { onComplete: job('e') })
    const built = build(chain(job('a'), inner, job('f')))
    expect(built).toMatchObject({ jobs: 5, nested: true })
    expect(built.start.literals['1']).toMatchObject({ start: { meta: { ojs: { jobs: 3 } } } })
  })

  it('the names of nested workflows, with their start keys', () => {
    const tree = { ...chain(job('a'), { ...group(job('b')), id: 'in' }, { ...group(chain(job('c'))) }), id: 'out' }
    const built = buildWorkflow(tree, { startKey: (id) => `k:${id}` })
    expect(built.names).toEqual(['k:out', 'k:in'])
    expect(built.start.literals['1']).toMatchObject({ start: { startKey: 'k:in' } })
    expect(JSON.stringify([built.start.net, built.start.nets])).not.toContain('k:')
  })

  it('each net records the kind of its workflow', () => {
    const { start } = build(chain(batch([group(job('a'))], { onFailure: job('b') })))
    expect([start.net, ...start.nets].map((net) => net.kind).sort()).toEqual(['batch', 'chain', 'group'])
  })
})

describe('refused workflows, with the path of the mistake', () => {
  it.each([
    ['an empty chain', chain(), 'chain: a chain needs at least one step'],
    ['an empty group inside', chain(job('a'), group()), 'chain.steps[1]: needs at least one job'],
    ['a batch without callbacks', batch([job('a')], {}), 'batch: a batch needs a callback'],
    ['a job without a type', group(job('a'), job('')), 'group.jobs[1]: a type must be a string of 1 to 255 characters'],
    ['a pattern', chain(job('a.%')), "chain.steps[0]: a job has one type; 'a.%' is a pattern"],
    ['a timeout of 0', chain(job('a', 1, { timeoutMs: 0 })), 'chain.steps[0]: timeoutMs must be more than 0'],
    [
      'a bad callback',
      batch([job('a')], { onSuccess: job('b', 1, { delayMs: -1 }) }),
      'batch.on_success: delayMs must be 0 or more',
    ],
    [
      'a bad retry',
      chain(job('a', 1, { retry: { coefficient: 0 } })),
      'chain.steps[0]: retry.coefficient must be at least 1',
    ],
    ['our own meta', chain(job('a', 1, { meta: { petrel: 1 } })), "chain.steps[0]: meta.petrel is the engine's own"],
  ])('%s', (_, tree, message) => {
    const error = refusal(tree)
    expect(error.code).toBe('invalid_request')
    expect(error.message).toContain(message)
  })
})
