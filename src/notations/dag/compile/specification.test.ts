/** Rules of the specification that apply when a file is read: §3.2 retry policy, §5.1 parallel, §5.2 validation. */
import { describe, expect, it } from 'vitest'
import { backoffMs, type Retry } from '../../../net/retry/retry.ts'
import { readInPlace } from '../../read.ts'
import type { Definition } from '../../source/definition.ts'
import type { DefinitionError } from '../../source/mistakes.ts'

const read = (steps: string): Promise<Definition> =>
  readInPlace(
    'flow.yaml',
    `apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: flow }\nspec:\n  steps:\n${steps.replace(/^/gm, '    ')}\n`,
  )

const refused = (steps: string): Promise<readonly (string | undefined)[]> =>
  read(steps).then(
    () => [],
    (error: DefinitionError) => error.problems.map((p) => p.rule ?? p.message),
  )

async function delays(policy: string, count: number): Promise<readonly number[]> {
  const { start } = await read(`- { name: a, retryPolicy: ${policy} }`)
  const retry = start.net.nodes[0]?.retry as Retry
  return Array.from({ length: count }, (_, i) => backoffMs(retry, i + 1, () => 0.9) / 1000)
}

describe('§3.2 retry policy', () => {
  it('maxRetries: 3 is at most 3 retries, 4 executions', async () => {
    const { start } = await read('- { name: a, retryPolicy: { maxRetries: 3 } }')
    expect(start.net.nodes[0]?.retry?.maxAttempts).toBe(4)
  })

  it('constant: 5s, 5s, 5s', async () => {
    expect(await delays('{ backoff: constant, initialDelay: 5s }', 3)).toEqual([5, 5, 5])
  })

  it('linear: 5s, 10s, 15s', async () => {
    expect(await delays('{ backoff: linear, initialDelay: 5s }', 3)).toEqual([5, 10, 15])
  })

  it('exponential: 1s, 2s, 4s, 8s', async () => {
    expect(await delays('{ backoff: exponential, initialDelay: 1s }', 4)).toEqual([1, 2, 4, 8])
  })

  it('maxDelay: 60s is the longest delay between retries', async () => {
    expect(await delays('{ backoff: exponential, initialDelay: 1s, maxDelay: 60s }', 8)).toEqual([
      1, 2, 4, 8, 16, 32, 60, 60,
    ])
    expect(await delays('{ backoff: linear, initialDelay: 30s, maxDelay: 60s }', 3)).toEqual([30, 60, 60])
  })
})

describe('§5.1 parallel execution', () => {
  it('steps without dependencies start at once, those with the same ones together, a join waits for both', async () => {
    const { net } = (
      await read(
        '- name: step-a\n- { name: step-b, dependsOn: [step-a] }\n- { name: step-c, dependsOn: [step-a] }\n- { name: step-d, dependsOn: [step-b, step-c] }',
      )
    ).start
    expect(net.entry).toEqual(['step-a'])
    expect(net.nodes.map((n) => [n.key, n.join, n.next.arcs.map((a) => a.to)])).toEqual([
      ['step-a', 'each', ['step-b', 'step-c']],
      ['step-b', 'each', ['step-d']],
      ['step-c', 'each', ['step-d']],
      ['step-d', 'count', []],
    ])
  })
})

describe('§5.2 DAG validation rules', () => {
  it('1. no cycles: a step cannot, directly or indirectly, depend on itself', async () => {
    expect(await refused('- name: root\n- { name: a, dependsOn: [root, a] }')).toEqual(['cycle'])
    expect(
      await refused(
        '- name: root\n- { name: a, dependsOn: [root, c] }\n- { name: b, dependsOn: [a] }\n- { name: c, dependsOn: [b] }',
      ),
    ).toEqual(['cycle'])
  })

  it('2. all dependencies must exist', async () => {
    expect(await refused('- name: a\n- { name: b, dependsOn: [a, nobody] }')).toEqual(["there is no step 'nobody'"])
  })

  it('3. at least one root', async () => {
    expect(await refused('- { name: a, dependsOn: [b] }\n- { name: b, dependsOn: [a] }')).toEqual(['no_root', 'cycle'])
    expect(await refused('- name: a\n- name: b')).toEqual([])
  })

  it('4. connected graph: all steps must be reachable from a root', async () => {
    expect(
      await refused(
        '- name: root\n- { name: a, dependsOn: [b] }\n- { name: b, dependsOn: [a] }\n- { name: c, dependsOn: [b] }\n- { name: d, dependsOn: [root, c] }',
      ),
    ).toEqual(['cycle', 'dead_step', 'join_cannot_complete'])
    expect(await refused('- name: root\n- { name: a, dependsOn: [root] }\n- name: other')).toEqual([])
  })
})
