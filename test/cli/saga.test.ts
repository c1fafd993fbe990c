/** petrel saga: how an operator inspects and changes sagas when no engine but that of the command is running. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Petrel } from '../../src/index.ts'
import { engineOf } from '../engine-of.ts'
import { freshDatabase, postgresUrl } from '../services.ts'
import { shell } from './petrel.ts'

const SAGA = `apiVersion: petrel.dev/v1
kind: Saga
metadata: { name: order }
spec:
  onFailure: stop
  steps:
    - { name: reserve, command: { subject: shop.v1.orders.reserve }, compensation: { subject: shop.v1.orders.release } }
    - { name: charge, command: { subject: pay.v1.cards.charge } }
`

const sh = shell()

function suite(place: () => Promise<{ readonly url: string; drop(): Promise<void> }>): void {
  let database: { readonly url: string; drop(): Promise<void> }
  let service: Petrel
  const petrel = (...args: readonly string[]) => sh.petrel(...args, '--store', database.url)

  beforeAll(async () => {
    database = await place()
    service = await Petrel.open(database.url)
    await service.saga()
    await service.work()
    expect((await petrel('deploy', sh.write('order.saga.yaml', SAGA))).code).toBe(0)
  }, 60_000)
  afterAll(async () => {
    await service?.close({ graceMs: 0 })
    await database?.drop()
  })

  const command = async (): Promise<string> => {
    for (;;) {
      const [row] = await engineOf(service).commands.take({ limit: 1, holdMs: 600_000 })
      if (row === undefined) await new Promise((resolve) => setTimeout(resolve, 20))
      else {
        await engineOf(service).commands.confirm({ runIds: [row.runId] })
        return row.runId
      }
    }
  }

  it('shows a stopped saga, and resumes it', async () => {
    const { id } = (await petrel('start', 'order', '--input', '{"item":1}', '--json')).json()
    await service.complete(await command(), { id: 'r1' })
    await service.fail(await command(), { code: 'step_failed', message: 'no money' })
    expect((await petrel('saga', 'ls', '--state', 'failed')).out).toMatch(
      /^ID +TYPE +STATE +STEP +CREATED +TOOK +ERROR\n[0-9a-f-]{36} {2}order +failed +1\/2 .*no money/,
    )
    const { out } = await petrel('saga', 'show', id)
    expect(out).toMatch(/^order [0-9a-f-]{36} {2}failed {2}step 1 of 2$/m)
    expect(out).toMatch(/^0 +reserve +completed +shop\.v1\.orders\.reserve +\d{4}-.*\{"id": ?"r1"\}$/m)
    expect(out).toMatch(/^1 +charge +failed +pay\.v1\.cards\.charge +\d{4}-.*no money$/m)
    expect(out).toContain(`petrel saga retry ${id} resumes where it stopped`)
    expect((await petrel('saga', 'retry', id, '--json')).json().saga.state).toBe('in_progress')
    await service.complete(await command())
    await service.instance(id).result()
    expect(await petrel('saga', 'retry', id)).toMatchObject({
      code: expect.any(Number),
      err: expect.stringContaining('only one that failed can be resumed'),
    })
  })

  it('names the steps that a rollback did not undo, in show and before a second rollback', async () => {
    const { id } = (await petrel('start', 'order', '--input', '{"item":2}', '--json')).json()
    const reserve = await command()
    await service.complete(reserve, { id: 'r2' })
    const charge = await command()
    expect((await petrel('saga', 'cancel', id)).code).toBe(0)
    await service.fail(charge, { code: 'step_failed', message: 'no money' })
    const undo = await command()
    await service.fail(undo, { code: 'stuck', message: 'the goods are gone' })
    expect((await petrel('saga', 'show', id)).out).toContain('reserve: done, and its compensation did not succeed')
    expect((await petrel('saga', 'retry', id)).out).toMatch(/ compensating /)
    expect(await command()).toBe(undo)
    await service.fail(undo, { code: 'stuck', message: 'the goods are gone' })
    expect((await petrel('retry', id)).out).toContain(`not undone: reserve (step ${reserve})`)
  })

  it('reports mistakes in the arguments', async () => {
    expect(await petrel('saga', 'show', 'x')).toMatchObject({
      code: 3,
      err: expect.stringContaining('there is no saga x'),
    })
    expect(await petrel('saga', 'ls', '--state', 'running')).toMatchObject({
      code: 2,
      err: expect.stringContaining('in_progress'),
    })
    expect((await petrel('saga', 'ls', '--type', 'nothing')).out).toBe('no sagas\n')
  })

  it('lists rejected messages', async () => {
    expect((await petrel('saga', 'refused')).out).toBe('no message was refused\n')
    const subject = 'workflow.v1.events.step-completed'
    const about = { instanceId: null, stepId: null, body: '{"a"\u001b[31m' }
    await engineOf(service).commands.refused.note({ subject, code: 'invalid_json', message: 'not JSON', ...about })
    const { out } = await petrel('saga', 'refused')
    expect(out).toContain('invalid_json')
    expect(out).not.toContain('\u001b[31m')
  })
}

describe('petrel saga (sqlite)', () =>
  suite(async () => ({ url: `sqlite:${sh.write('saga.db', '')}`, drop: async () => undefined })))

describe.skipIf(postgresUrl() === null)('petrel saga (postgres)', () => suite(freshDatabase))
