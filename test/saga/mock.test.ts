/**
 * A dry run behaves like a run with services: the same files, with services that reply alike, end alike. The test
 * replies to the commands of the real run itself, on the engine.
 */
import { describe, expect, it } from 'vitest'
import { dryRun } from '../../src/cli/run/mock.ts'
import { readOutcomes } from '../../src/cli/run/outcomes.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { PLACES } from '../engine/drive.ts'
import { Stage } from '../engine/saga/stage.ts'

const file = (spec: string, second = '') => `
apiVersion: petrel.dev/v1
kind: Saga
metadata: { name: pair }
spec:
  deadline: 1m
  ${spec}
  steps:
    - name: a
      command: { subject: alpha.v1.things.make }
      compensation: { subject: alpha.v1.things.unmake }
    - name: b
      command: { subject: beta.v1.things.make }
      compensation: { subject: beta.v1.things.unmake }
      ${second}
`
const SECOND = 1000
/** When b replies, and how; how the undo of a replies. */
const CASES = [
  { name: 'all is well', text: file(''), b: 'ok', end: 'completed' },
  { name: 'a failure', text: file(''), b: 'error', end: 'compensated' },
  { name: 'a failure under stop', text: file('onFailure: stop'), b: 'error', end: 'failed' },
  { name: 'a silence', text: file(''), b: 'timeout', end: 'failed' },
  { name: 'a silence that is undone', text: file('', 'onSilence: compensate'), b: 'timeout', end: 'compensated' },
  { name: 'a timeout with a slow step', text: file('timeout: 3s'), b: 30 * SECOND, end: 'compensated' },
  { name: 'a timeout with a silent step', text: file('timeout: 3s'), b: 'timeout', end: 'failed' },
  { name: 'a timeout under stop', text: file('timeout: 3s\n  onFailure: stop'), b: 'timeout', end: 'failed' },
  { name: 'a timeout, undone', text: file('timeout: 3s', 'onSilence: compensate'), b: 'timeout', end: 'compensated' },
  { name: 'an undo that fails', text: file(''), b: 'error', undo: 'error', end: 'failed' },
  { name: 'an undo that is silent', text: file(''), b: 'error', undo: 'timeout', end: 'failed' },
] as const

type Case = (typeof CASES)[number] & { readonly undo?: string }

describe.each(CASES)('$name', (given: Case) => {
  const definition = readDefinition('pair.yaml', given.text)

  it(`ends ${given.end} in a dry run`, async () => {
    const reply = (how: string | number) =>
      how === 'error' ? '{ error: no }' : typeof how === 'number' ? `{ delay: ${how}ms }` : how
    const text = `a.undo: ${reply(given.undo ?? 'ok')}\nb: ${reply(given.b)}\n`
    const outcomes = readOutcomes('outcomes.yaml', text, new Set(['a', 'b']))
    const params = { definition: await definition, input: {}, handlers: null, outcomes, onStep: () => {} }
    const flown = await dryRun({ ...params, signal: new AbortController().signal })
    expect((await flown.engine.view(flown.id))?.instance.state).toBe(given.end)
    await flown.close()
  })

  it.each(PLACES)('ends the same with services on $name', async (place) => {
    const s = await Stage.open(place)
    const { net } = (await definition).start
    await s.start(net)
    const play = async (name: string, how: string | number): Promise<void> => {
      if (how === 'ok') await s.answer(name)
      else if (how === 'error') await s.refuse(name)
    }
    const undo = async (): Promise<void> => {
      for (let names = await s.dispatch(); names.length > 0; names = await s.dispatch()) {
        for (const name of names) await play(name, name === 'undo a' ? (given.undo ?? 'ok') : 'ok')
      }
    }
    await s.dispatch()
    await s.answer('a')
    await s.dispatch()
    await play('b', given.b)
    await undo()
    if (given.text.includes('timeout: 3s')) await s.d.pass(3 * SECOND + 1)
    await undo()
    if (typeof given.b === 'number') {
      await s.d.pass(given.b)
      await s.answer('b')
    }
    await undo()
    await s.d.pass(61 * SECOND)
    await undo()
    expect(await s.state()).toBe(given.end)
    expect(await s.d.doctor()).toEqual([])
    await s.close()
  })
})
