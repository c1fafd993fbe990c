/** Long arguments, which a workflow stores separately, read by plain SQL as docs/inbox.md describes. */
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { net, node, run } from '../engine/drive.ts'
import { freshDatabase, postgresUrl } from '../services.ts'
import { Stage } from './stage.ts'

const page = readFileSync(new URL('../../docs/inbox.md', import.meta.url), 'utf8')
const statement = /```sql\n(with given as[^`]*?)```/.exec(page)?.[1] ?? ''

describe.skipIf(postgresUrl() === null)('separately stored arguments', () => {
  it('are found by the documented statement', async () => {
    const stage = await Stage.open({ name: 'postgres', open: freshDatabase })
    const client = new pg.Client({ connectionString: stage.url })
    await client.connect()
    try {
      const text = 'x'.repeat(5000)
      const body = run('item', { args: { n: '{{ item }}' } })
      const each = { kind: 'each', items: '[1, 2]', body, maxInFlight: null, failFast: false } as const
      const work = [
        node('long', [], { work: run('long', { args: { text: '{{ input.text }}' } }) }),
        node('short', [], { work: run('short', { args: { n: 7 } }) }),
        node('each', [], { work: { ...each, shared: { text: '{{ input.text }}', n: 0 } } }),
      ]
      const shape = net(work, { inlineBytes: 1024, entry: ['long', 'short', 'each'] })
      const id = await stage.d.start({ net: shape, input: { text } })
      const read = async (name: string, item = -1) => {
        const { id: runId } = await stage.runAt(id, name, item)
        const { rows } = await client.query(statement.replace(':run', '$1'), [runId])
        return rows.map(({ payload }) => payload)
      }
      expect(await read('long')).toEqual([{ text }])
      expect(await read('short')).toEqual([{ n: 7 }])
      expect(await read('each', 0)).toEqual([{ text, n: 1 }])
      expect(await read('each', 1)).toEqual([{ text, n: 2 }])
    } finally {
      await client.end()
      await stage.close()
    }
  })
})
