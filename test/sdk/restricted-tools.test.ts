/**
 * Workers with some of the tools: each step goes to a worker that has its tools, in any process, and waits otherwise.
 */

import { expect, it } from 'vitest'
import { petrelOn } from '../../src/client/petrel.ts'
import { type Petrel, type Tool, Tools } from '../../src/index.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { NO_POLL } from '../engine/manual-worker.ts'
import { engineOf } from '../engine-of.ts'
import { onBothStores } from './stores.ts'

const playbook = (name: string, kinds: readonly string[]): string => {
  const steps = kinds.map((kind, n) => {
    const next = n + 1 < kinds.length ? `\n    next: { arcs: [{ step: s${n + 1} }] }` : ''
    return `  - step: s${n}\n    tool: { kind: ${kind} }${next}`
  })
  const requires = 'executor: { requires: { tools: [red, blue, green] } }'
  return `apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: ${name} }\n${requires}\nworkflow:\n${steps.join('\n')}\n`
}

const tool = (kind: string): Tool => ({
  kind,
  check: () => [],
  run: async () => ({ status: 'ok', result: kind, error: null }),
})

function work(petrel: Petrel, ...kinds: readonly string[]) {
  const tools = new Tools()
  for (const kind of kinds) tools.add(tool(kind))
  petrel.playbooks({ tools })
  return petrel.work({ pollMs: 200 })
}

onBothStores('workers with some of the tools', (stage) => {
  it('get the steps they have the tools for, claimed or handed over, in one process or several', async () => {
    const petrel = await stage.open()
    await work(petrel, 'red')
    await work(petrelOn(engineOf(petrel)), 'blue')
    await work(await stage.open(), 'red', 'green')
    const kinds = ['red', 'blue', 'green', 'blue', 'red', 'red']
    const text = playbook('colours', kinds)
    const started = await Promise.all(Array.from({ length: 8 }, () => petrel.startText(text)))
    const wanted = Object.fromEntries(kinds.map((kind, n) => [`s${n}`, kind]))
    for (const handle of started) expect(await handle.result()).toEqual(wanted)
  })

  it('leave a step for others: it stays pending without an attempt, and why names the missing tool', async () => {
    const petrel = await stage.open()
    await work(petrel, 'red')
    const handle = await petrel.startText(playbook('both', ['red', 'blue']))
    const why = async (): Promise<string> => JSON.stringify(await engineOf(petrel).why({ instanceId: handle.id }))
    await expect.poll(why, { timeout: 20_000 }).toContain('"tools":["blue"]')
    const [run] = (await engineOf(petrel).view(handle.id))!.runs.filter(({ node }) => node === 's1')
    expect(run).toMatchObject({ status: 'pending', attempt: 0, type: 'playbook.step:tools=blue' })
    await work(await stage.open(), 'blue')
    expect(await handle.result()).toEqual({ s0: 'red', s1: 'blue' })
  })

  it('are not delayed by many steps they cannot execute', async () => {
    const petrel = await stage.open(NO_POLL)
    const blue = playbook('blue', ['blue'])
    for (let n = 0; n < 5; n++) await Promise.all(Array.from({ length: 20 }, () => petrel.startText(blue)))
    const red = await petrel.startText(playbook('red', ['red', 'red']))
    await work(petrel, 'red')
    expect(await red.result()).toEqual({ s0: 'red', s1: 'red' })
  })

  it('return a step whose type does not name its tools, as in nets from earlier versions', async () => {
    const petrel = await stage.open()
    const definition = await readDefinition('old.yaml', playbook('old', ['blue', 'red']))
    const start = JSON.parse(JSON.stringify(definition.start).replaceAll(/playbook\.step:tools=\w+/g, 'playbook.step'))
    await work(petrel, 'red')
    const [started] = await engineOf(petrel).start([start])
    const { id } = started as { readonly id: string }
    const run = async () => (await engineOf(petrel).view(id))!.runs[0]
    await expect.poll(async () => (await run())!.runAt > (await run())!.createdAt, { timeout: 20_000 }).toBe(true)
    expect(await run()).toMatchObject({ type: 'playbook.step', status: 'pending', attempt: 0 })
    await work(await stage.open(), 'red', 'blue')
    expect(await petrel.instance(id).result()).toEqual({ s0: 'blue', s1: 'red' })
  }, 60_000)
})
