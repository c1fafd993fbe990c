import { expect, it } from 'vitest'
import { onBothStores } from '../serving.ts'

onBothStores('OJS: the types of a fetch', (stage) => {
  it('only matching types and prefixes are returned; every character is literal', async () => {
    const { post } = await stage.serve()
    const fetch = async (types: readonly string[]) => {
      const reply = await post('/ojs/v1/workers/fetch', { queues: ['types'], count: 10, types })
      expect(reply.status).toBe(200)
      return reply.body.jobs.map((each: any) => each.type).sort()
    }
    const types = ['bill.a_b', 'bill.a-b', 'bill.axb', 'billing.pay', 'mail.send']
    for (const type of types) {
      expect((await post('/ojs/v1/jobs', { type, args: [], options: { queue: 'types' } })).status).toBe(201)
    }
    expect(await fetch(['bill.a_%'])).toEqual(['bill.a_b'])
    expect(await fetch(['bill.a_b', 'nothing.%'])).toEqual([])
    expect(await fetch(['bill.%'])).toEqual(['bill.a-b', 'bill.axb'])
    expect(await fetch([])).toEqual([])
    expect(await fetch(['mail.send', 'bill%'])).toEqual(['billing.pay', 'mail.send'])
  })

  it('an ambiguous filter is 400, with its path', async () => {
    const { post } = await stage.serve()
    const reply = await post('/ojs/v1/workers/fetch', { queues: ['types'], types: ['mail.%', 'a%b', 'a\\b%'] })
    expect(reply.status).toBe(400)
    expect(reply.text).toContain('types[1]')
    expect(reply.text).toContain("'%' is allowed only at the end of a type: 'a%b'")
  })

  it('registered types go to a fetch that states their runtime, and to no other', async () => {
    const { post, engine } = await stage.serve()
    await engine.registry.put({ workflowName: 'thumb.make', runtime: 'go' })
    await engine.registry.put({ workflowName: 'thumb.off', runtime: 'go', isEnabled: false })
    for (const type of ['thumb.make', 'thumb.off', 'thumb.free']) {
      await post('/ojs/v1/jobs', { type, args: [], options: { queue: 'runtimes' } })
    }
    const fetch = async (runtime?: string) => {
      const reply = await post('/ojs/v1/workers/fetch', {
        queues: ['runtimes'],
        count: 10,
        ...(runtime && { runtime }),
      })
      return reply.body.jobs.map((each: any) => each.type).sort()
    }
    expect(await fetch()).toEqual(['thumb.free'])
    expect(await fetch('python')).toEqual([])
    expect(await fetch('go')).toEqual(['thumb.make'])
    await engine.registry.remove('thumb.off')
    expect(await fetch()).toEqual(['thumb.off'])
  })
})
