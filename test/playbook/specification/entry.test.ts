/** §1 and §2: root sections, tokens, and where an execution begins. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DefinitionError } from '../../../src/notations/source/mistakes.ts'
import { readDefinition } from '../../../src/operations/definitions/read.ts'
import { PLACES } from '../../engine/drive.ts'
import { playbook, Stage, step, workflow } from '../stage.ts'

const wrong = (text: string): Promise<DefinitionError> =>
  readDefinition('example.yaml', text).then(
    () => expect.fail('it was accepted'),
    (error: DefinitionError) => error,
  )

describe('the sections of a playbook', () => {
  it('are metadata, keychain, executor, workload, workflow and workbook; another one is refused with its line', async () => {
    const sections = `
keychain: [{ name: api, kind: env, map: { token: API_TOKEN } }]
executor: { spec: { entry_step: a } }
workload: { n: 1 }
workbook: [{ name: greet, tool: { kind: noop } }]
${workflow(step('a'))}`
    const { dialect, start, warnings } = await readDefinition('example.yaml', playbook(sections))
    expect([dialect, start.net.nodes.map(({ key }) => key), start.net.input]).toEqual(['playbook', ['a'], { n: 1 }])
    expect(warnings?.filter(({ message }) => message.includes('section'))).toEqual([])
    const error = await wrong(playbook(`vars: { n: 1 }\n${workflow(step('a'))}`))
    expect(error.problems).toEqual([expect.objectContaining({ line: 4, message: expect.stringContaining('vars') })])
  })

  it('workflow is a list of at least one step', async () => {
    for (const bad of ['workflow: {}\n', 'workflow: []\n', 'workload: {}\n']) {
      const error = await wrong(playbook(bad))
      expect(error.problems.map(({ message }) => message).join()).toMatch(/workflow/)
    }
  })
})

describe.each(PLACES)('§1.1 tokens on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  it('a step consumes the token that starts it, and its arcs create those of the next steps', async () => {
    const id = await stage.start(
      workflow(step('a', 'next: { spec: { mode: inclusive }, arcs: [{ step: b }, { step: b }] }'), step('b')),
    )
    expect(await stage.running()).toEqual(['a'])
    await stage.succeed('a')
    expect(await stage.running()).toEqual(['b', 'b'])
    await stage.succeed('b')
    expect(await stage.running()).toEqual(['b'])
    await stage.succeed('b')
    expect(await stage.end(id)).toBe('completed: success')
  })
})

describe.each(PLACES)('§2 entry on $name', (place) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await Stage.open(place)
  })
  afterEach(() => stage.close())

  it('§2.1 by default the first step of the list is the entry, whatever it is called', async () => {
    const steps = [step('zeta', 'next: { arcs: [{ step: start }] }'), step('start'), step('end')]
    await stage.start(workflow(steps[0] as string, steps[1] as string))
    expect(await stage.running()).toEqual(['zeta'])
  })

  it('§2.2 executor.spec.entry_step is where it begins, wherever it is in the list', async () => {
    const entry = 'executor: { spec: { entry_step: c } }\n'
    const id = await stage.start(entry + workflow(step('a'), step('b'), step('c', 'next: { arcs: [{ step: a }] }')))
    expect(await stage.through()).toEqual(['c', 'a'])
    expect(await stage.end(id)).toBe('completed: success')
  })

  it('§2.2 an entry_step that does not exist is refused, with its line and a suggestion', async () => {
    const error = await wrong(playbook(`executor:\n  spec:\n    entry_step: fetsch\n${workflow(step('fetch'))}`))
    expect(error.problems[0]).toMatchObject({ line: 6, hint: expect.stringContaining('fetch') })
  })

  it('§2.3 exactly one token is created for it, however many steps could begin', async () => {
    await stage.start(
      workflow(step('a', 'next: { arcs: [{ step: b }] }'), step('b'), step('c', 'next: { arcs: [{ step: b }] }')),
    )
    expect(await stage.running()).toEqual(['a'])
    await stage.succeed('a')
    expect(await stage.running()).toEqual(['b'])
  })
})
