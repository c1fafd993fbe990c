/** ctx.log in handlers, and what it stores. */
import { describe, expect, it } from 'vitest'
import { Petrel } from '../../src/index.ts'
import { PLACES } from '../engine/drive.ts'

describe.each(PLACES)('ctx.log on $name', (place) => {
  it('stores lines before the outcome can be seen', async () => {
    const { url, drop } = await place.open()
    const petrel = await Petrel.open(url)
    try {
      petrel.handle('charge', async (_: unknown, ctx) => {
        ctx.log.info('begins', { attempt: ctx.attempt })
        ctx.log.debug('details')
        await Promise.resolve()
        if (ctx.attempt === 1) throw new Error('busy')
        ctx.log.warn('ends')
      })
      petrel.handle('silent', () => 1)
      await petrel.work()
      const run = await petrel.enqueue('charge', null, { retry: { maxAttempts: 2, initialMs: 1, maxMs: 1 } })
      await run.result()
      const { lines, more } = await run.log()
      expect(lines.map(({ attempt, number, level, text }) => [attempt, number, level, text])).toEqual([
        [1, 0, 'info', 'begins'],
        [1, 1, 'debug', 'details'],
        [2, 0, 'info', 'begins'],
        [2, 1, 'debug', 'details'],
        [2, 2, 'warn', 'ends'],
      ])
      expect([more, lines[0]?.fields, lines[0]?.at]).toEqual([false, { attempt: 1 }, expect.any(Date)])
      expect((await run.log({ attempt: 1 })).lines).toHaveLength(2)
      const silent = await petrel.enqueue('silent', null)
      await silent.result()
      expect(await silent.log()).toEqual({ lines: [], next: 0, more: false })
    } finally {
      await petrel.close()
      await drop()
    }
  })
})
