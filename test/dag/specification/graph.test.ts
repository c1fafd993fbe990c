/** §5: which steps run in parallel, which wait, and which graphs are refused. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DefinitionError } from '../../../src/notations/source/mistakes.ts'
import { readDefinition } from '../../../src/operations/definitions/read.ts'
import { PLACES } from '../../engine/drive.ts'
import { fileOf, type Spec, Stage } from './stage.ts'

describe.each(PLACES)('§5.1 parallel execution on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  it('no dependencies: starts at once; the same dependency: in parallel; several: waits for both', async () => {
    const id = await stage.start({
      steps: [
        { name: 'step-a' },
        { name: 'step-b', dependsOn: ['step-a'] },
        { name: 'step-c', dependsOn: ['step-a'] },
        { name: 'step-d', dependsOn: ['step-b', 'step-c'] },
      ],
    })
    expect(await stage.running()).toEqual(['step-a'])
    await stage.succeed('step-a')
    expect(await stage.running()).toEqual(['step-b', 'step-c'])
    await stage.succeed('step-c')
    expect(await stage.running()).toEqual(['step-b'])
    await stage.succeed('step-b')
    expect(await stage.running()).toEqual(['step-d'])
    await stage.succeed('step-d')
    expect((await stage.status(id)).state).toBe('completed')
  })

  it('several roots begin together, and need not meet', async () => {
    const id = await stage.start({ steps: [{ name: 'a' }, { name: 'b' }, { name: 'c', dependsOn: ['b'] }] })
    expect(await stage.running()).toEqual(['a', 'b'])
    await stage.succeed('b')
    expect(await stage.running()).toEqual(['a', 'c'])
    await stage.succeed('c')
    await stage.succeed('a')
    expect((await stage.status(id)).state).toBe('completed')
  })

  it('a step is given the result of each step it depends on, by name; null for a skipped one', async () => {
    await stage.start(
      {
        steps: [
          { name: 'a' },
          { name: 'b', onFailure: 'skip' },
          { name: 'c', agent: 'writer', action: 'Write', dependsOn: ['a', 'b'] },
        ],
      },
      { input: { week: 46 } },
    )
    await stage.succeed('a', { n: 1 })
    await stage.fail('b')
    const { payload, type, queue } = await stage.take('c')
    expect([type, queue]).toEqual(['writer', 'writer'])
    expect(JSON.parse(payload)).toEqual({
      agent: 'writer',
      action: 'Write',
      input: { week: 46 },
      results: { a: { n: 1 }, b: null },
    })
  })
})

describe('§5.2 graphs that are refused', () => {
  const refused = async (spec: Spec): Promise<string> =>
    readDefinition('example.yaml', fileOf(spec)).then(
      () => 'accepted',
      (error: DefinitionError) => error.problems.map(({ message, hint }) => `${message}; ${hint}`).join('\n'),
    )

  it('rule 1, no cycles: direct and indirect, and the cycle is named', async () => {
    expect(await refused({ steps: [{ name: 'r' }, { name: 'a', dependsOn: ['a'] }] })).toBe(
      "step 'a' depends on itself: a → a; remove it",
    )
    const ring = ['a', 'b', 'c'].map((name, i, all) => ({ name, dependsOn: [all.at(i - 1) as string] }))
    expect(await refused({ steps: [{ name: 'r' }, ...ring] })).toMatch(
      /^steps wait for each other: a → [bc] → [bc] → a; remove one/,
    )
  })

  it('rule 2, all dependencies must exist: the most similar name is suggested', async () => {
    expect(await refused({ steps: [{ name: 'build' }, { name: 'ship', dependsOn: ['biuld'] }] })).toBe(
      "there is no step 'biuld'; did you mean 'build'?",
    )
  })

  it('rule 3, at least one root', async () => {
    const ring = [
      { name: 'a', dependsOn: ['b'] },
      { name: 'b', dependsOn: ['a'] },
    ]
    expect(await refused({ steps: ring })).toMatch(
      /^no step can begin: every one depends on another; at least one step has no dependsOn/,
    )
  })

  it('rule 4, every step is reachable from a root: steps behind a cycle are named too', async () => {
    const steps = [
      { name: 'r' },
      { name: 'x', dependsOn: ['y'] },
      { name: 'y', dependsOn: ['x'] },
      { name: 'z', dependsOn: ['y'] },
    ]
    expect(await refused({ steps })).toContain("step 'z' is dead: it can never run, 'y' never ends")
  })
})
