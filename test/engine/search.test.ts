/** What instances and runs are found by: terms are written with what they describe, and removed with it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { TermRow } from '../../src/model/rows.ts'
import { parseInstanceSearch, parseRunSearch } from '../../src/model/search/parse.ts'
import { Drive, net, node, ONCE, PLACES } from './drive.ts'

describe.each(PLACES)('terms of instances and runs on $name', (place) => {
  let d: Drive
  /** Terms that transactions wrote, by the id they belong to. */
  let written: TermRow[]
  beforeEach(async () => {
    d = await Drive.open(place)
    written = []
    const { transact } = d.store
    Object.assign(d.store, {
      transact: (transaction: Parameters<typeof transact>[0]) =>
        transact.call(d.store, {
          ...transaction,
          decide: (loaded) => {
            const decided = transaction.decide(loaded)
            if ('delta' in decided) written.push(...(decided.delta.terms ?? []))
            return decided
          },
        }),
    })
  })
  afterEach(() => d.close())

  const find = async (query: string): Promise<readonly string[]> => {
    const asked = { search: parseInstanceSearch(query), tenant: null, limit: 100, before: null }
    return (await d.store.read.search.instances(asked)).rows.map(({ id }) => id)
  }
  const findRuns = async (query: string): Promise<readonly string[]> => {
    const asked = { search: parseRunSearch(query), tenant: null, limit: 100, before: null }
    return (await d.store.read.search.runs(asked)).rows.map(({ id }) => id)
  }
  const flow = net([node('a', ['b']), node('b')])

  it('a start without input, metadata, tags or initiator writes none, nor do its steps', async () => {
    await d.start({ net: flow })
    expect(await d.work()).toEqual(['a', 'b'])
    expect(written).toEqual([])
  })

  it('a start is found by its tags, initiator, metadata and input', async () => {
    const id = await d.start({
      net: flow,
      tags: ['eu', 'vip', 'eu'],
      initiator: 'ada',
      meta: { region: 'eu' },
      input: { id: 117, urgent: true },
    })
    await d.start({ net: flow, tags: ['us'] })
    for (const query of ['tag:eu', 'tag:vip', 'initiator:ada', 'meta.region:eu', 'input.id:117', 'input.urgent:true']) {
      expect([query, await find(query)]).toEqual([query, [id]])
    }
    const steps = written.length
    await d.work()
    expect(written).toHaveLength(steps)
  })

  it('tags that are wrong are refused, and nothing starts', async () => {
    await expect(d.start({ net: flow, tags: ['eu', ''] })).rejects.toMatchObject({
      code: 'invalid_request',
      details: { path: 'start.tags[1]' },
    })
    expect(await find('')).toEqual([])
  })

  it('a failure for good is found by its code, on the run, its instance and the root; a retried one is not', async () => {
    const id = await d.start({ net: net([node('a', [], { retry: { ...ONCE, maxAttempts: 2 } })]) })
    await d.fail(await d.claimOne(), { code: 'busy' })
    expect(written).toEqual([])
    const again = await d.claimOne()
    await d.fail(again, { code: 'card_declined' })
    expect(await find('error:card_declined')).toEqual([id])
    expect(await find('error:card_declined state:failed')).toEqual([id])
    expect(await find('error:busy')).toEqual([])
    expect(await findRuns('error:card_declined')).toEqual([again.runId])
    expect(await findRuns('error:busy')).toEqual([])
  })

  it('a dead letter that was redriven is no longer found by its old failure', async () => {
    const [bare] = await d.engine.enqueue([
      { type: 'charge', payload: {}, tags: ['eu'], retry: { ...ONCE, deadLetter: true } },
    ])
    const id = (bare as { id: string }).id
    await d.fail(await d.claimOne(), { code: 'declined' })
    expect(await findRuns('dead:true error:declined tag:eu')).toEqual([id])
    await d.engine.redrive({ runId: id, actor: null })
    expect(await findRuns('error:declined')).toEqual([])
    expect(await findRuns('tag:eu')).toEqual([id])
    await d.fail(await d.claimOne(), { code: 'declined' })
    expect(await findRuns('error:declined')).toEqual([id])
  })

  it('a run of plain work without tags writes no term', async () => {
    await d.engine.enqueue([{ type: 'x', payload: { a: 1 }, meta: { b: 1 } }])
    await d.work()
    expect(written).toEqual([])
  })

  it('a retry has the tags of the old one, and the input it was given', async () => {
    const id = await d.start({ net: net([node('a', [], { retry: ONCE })]), tags: ['eu'], input: { id: 1 } })
    await d.fail(await d.claimOne(), { code: 'broken' })
    const { id: second } = await d.engine.retryInstance({ id, actor: 'ada', input: { id: 2 } })
    expect(await find('tag:eu')).toEqual([second, id])
    expect(await find('tag:eu input.id:2')).toEqual([second])
    expect(await find('tag:eu error:broken')).toEqual([id])
  })

  it('retention removes the terms with what they describe', async () => {
    const id = await d.start({ net: net([node('a', [], { retry: ONCE })]), tags: ['eu'] })
    await d.engine.enqueue([{ type: 'x', payload: {}, tags: ['eu'] }])
    await d.work((delivery) => (delivery.type === 'a' ? new Error('broken') : null))
    expect(await find('tag:eu')).toEqual([id])
    const later = (await d.store.now()) + 1_000
    await d.store.sweep.prune({ endedBefore: later, eventsBefore: 0, limit: 1_000 })
    expect(await find('nested:any')).toEqual([])
    // Under another id nothing is found either: the rows of the table are gone.
    const again = await d.start({ id, net: flow })
    expect(again).toBe(id)
    expect(await find('tag:eu')).toEqual([])
    expect(await find('error:broken')).toEqual([])
  })

  it('a nested instance is found by its failure, and so is its root', async () => {
    const inner = net([node('c', [], { retry: ONCE })], { name: 'inner' })
    const outer = net([node('p', [], { work: { kind: 'child', net: netHash(inner), mode: 'attached', input: null } })])
    const id = await d.start({ net: outer, nets: [inner] })
    await d.fail(await d.claimOne(), { code: 'card_declined' })
    expect(await find('error:card_declined')).toEqual([id])
    expect(await find('error:card_declined nested:any')).toHaveLength(2)
  })
})
