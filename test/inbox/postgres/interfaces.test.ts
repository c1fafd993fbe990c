/** The rules of the inbox apply to the inbox only: runs of other interfaces keep their own names. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Serving, serveOn } from '../../server/serving.ts'
import { postgresUrl } from '../../services.ts'
import { type InboxStage, inboxStage } from './stage.ts'

describe.skipIf(postgresUrl() === null)('other interfaces together with the inbox', () => {
  let stage: InboxStage
  let serving: Serving
  beforeEach(async () => {
    stage = await inboxStage()
    serving = await serveOn(stage.ownerUrl)
  })
  afterEach(async () => {
    await serving.server.close({ graceMs: 500 })
    await serving.engine.close()
    await serving.store.close()
    await stage.close()
  })

  it('email.send is enqueued over OJS, where types have no version, and may be executed by plain SQL', async () => {
    await expect(
      stage.sql(`INSERT INTO workflow_run (type, payload) VALUES ('email.send', '[]')`),
    ).rejects.toMatchObject({
      column: 'type',
    })
    const made = await serving.post('/ojs/v1/jobs', { type: 'email.send', args: ['a@b.c'] })
    expect(made.status).toBe(201)
    const { id } = made.body.job
    expect(await stage.run(id)).toMatchObject({ type: 'email.send', inbox: false })
    const go = await stage.client('Go')
    expect(await go.claim('w', ['email.%'])).toMatchObject({ id, type: 'email.send' })
    await go.complete(id, { sent: true })
    const job = await serving.get(`/ojs/v1/jobs/${id}`)
    expect(job.body.job).toMatchObject({ state: 'completed', result: { sent: true } })
    expect((await stage.history(id)).map((event) => event.type)).toEqual(['created', 'leased', 'started', 'succeeded'])
  })
})
