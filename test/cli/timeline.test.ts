/** petrel timeline, and the pages of petrel show. */
import { beforeAll, describe, expect, it } from 'vitest'
import { HANDLERS, shell } from './petrel.ts'

const sh = shell()

describe('petrel timeline', () => {
  let id: string
  beforeAll(async () => {
    const handlers = sh.write('handlers.mjs', HANDLERS)
    const text = 'type: chain\nname: shown\nsteps: [{ type: test.echo, args: [1] }, { type: test.fail, retry: 1 }]\n'
    const ran = await sh.petrel('run', sh.write('flow.yaml', text), '--handlers', handlers, '--json')
    id = ran.json().instance.id
  })

  it('draws each run within the width of the terminal, in the order of its beginning', async () => {
    const { code, out } = await sh.petrel('timeline', id)
    expect(code).toBe(0)
    expect(out).toMatch(/^shown {2}failed {2}[0-9a-f-]{36}\n/)
    expect(out).toMatch(/^0 +[░█·]+ +succeeded, \d+ ms, by .+$/m)
    expect(out).toMatch(/^1 +[ ░█·]+ +failed, \d+ ms, by .+$/m)
    for (const line of out.split('\n')) expect([...line].length).toBeLessThanOrEqual(100)
  })

  it('has pages, one step alone, and the columns of the API with --json', async () => {
    const first = await sh.petrel('timeline', id, '--limit', '1')
    const [, more] = first.out.match(/^more: petrel timeline \S+ --after (\S+)$/m) as RegExpMatchArray
    const second = await sh.petrel('timeline', id, '--limit', '1', '--after', more as string)
    expect(second.out).toMatch(/^1 .*failed/m)
    expect(second.out).not.toContain('more:')
    const alone = (await sh.petrel('timeline', id, '--step', '1', '--json')).json()
    expect([alone.rows.node.words, alone.rows.ids.length]).toEqual([['1'], 1])
    expect(await sh.petrel('timeline', id, '--step', '9')).toMatchObject({ code: 3 })
    expect(await sh.petrel('timeline', id, '--after', 'x')).toMatchObject({ code: 2 })
  })

  it('show --events names the workers', async () => {
    const { out } = await sh.petrel('show', id, '--events')
    expect(out).toMatch(/^ *SEQ +AT +EVENT +NODE +BY +DATA$/m)
    const { events } = (await sh.petrel('show', id, '--events', '--json')).json()
    expect(events.find((event: any) => event.type === 'succeeded').worker).toBeTypeOf('string')
    expect((await sh.petrel('show', id, '--page', 'x')).code).toBe(2)
  })
})
