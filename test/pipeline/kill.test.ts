/**
 * Workers that are killed one after another, at every point of one pipeline with a long rest in it. The step is not
 * lost: it is executed again from its first task, or from its last long rest, each task under its original key.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import { SLOT } from '../../src/net/slots.ts'
import { VOCABULARIES } from '../../src/notations/vocabularies.ts'
import { openStore } from '../../src/store/open.ts'
import { built, Program } from '../crash/process.ts'
import { freshDatabase, postgresUrl } from '../services.ts'
import { program, rule, task } from './fakes.ts'
import { stepNet } from './stage.ts'

const WORKER = fileURLToPath(new URL('worker-process.mjs', import.meta.url))

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'petrel-kill-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const PLACES = [
  { name: 'sqlite', open: async () => ({ url: `sqlite:${join(folder, 'petrel.db')}`, drop: async () => {} }) },
  ...(postgresUrl() === null ? [] : [{ name: 'postgres', open: freshDatabase }]),
]

describe.each(PLACES)('killed on $name', (place) => {
  it('continues from its last rest, in any worker', { timeout: 120_000 }, async () => {
    const dist = built()
    const { url, drop } = await place.open()
    const store = await openStore(url)
    await store.migrate()
    const engine = await Engine.open({ vocabularies: VOCABULARIES, store, sweep: false, pollMs: 50 })
    const tried: string[] = []
    const runs = new Set<unknown>()
    const living: Program[] = []
    const begin = async (hangs: string | null): Promise<Program> => {
      const process = new Program(WORKER, { dist, url, hangs })
      process.onLine = (line) => {
        if (!('tried' in line)) return
        tried.push(String(line['tried']))
        runs.add(line['run'])
      }
      living.push(process)
      await process.line('ready')
      return process
    }
    /** Kills it once it reports this. */
    const dies = async (process: Program, at: string): Promise<void> => {
      while ((await process.line<{ tried: string }>('tried')).tried !== at);
      await process.kill()
    }
    const rested = async (id: string): Promise<void> => {
      for (;;) {
        const [run] = await store.read.instanceRuns({ instanceId: id, limit: 1, after: null })
        if (run?.status === 'pending' && run.runAt > (await store.now()) + 200) return
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }
    try {
      const tasks = [
        task('first', { config: { gives: 7 }, set: { 'ctx.first': '{{ output }}' } }),
        task('page', {
          config: { gives: 1 },
          rules: [rule('{{ step.more | default(true) }}', 'jump', { to: 'page', set: { 'step.more': false } })],
        }),
        task('limited', {
          config: { fails: 'limited#1', gives: 1 },
          rules: [rule("{{ output.status == 'error' }}", 'retry', { delayS: 2 })],
        }),
        task('last', { config: { gives: '{{ first + limited }}' } }),
      ]
      const [started] = await engine.start([{ net: stepNet(program(tasks)) }])
      const { id } = started as { readonly id: string }

      await dies(await begin('first#1'), 'first#1')
      await dies(await begin('page:2#1'), 'page:2#1')
      const resting = await begin(null)
      await rested(id)
      await resting.kill()
      await dies(await begin('limited#2'), 'limited#2')
      await dies(await begin('last#1'), 'last#1')
      await begin(null)
      await engine.ended({ id, kind: 'instance', signal: AbortSignal.timeout(60_000) })

      expect(tried).toEqual([
        'first#1', // killed
        'first#1', // from the start: nothing had been saved
        'page#1',
        'page:2#1', // killed
        'first#1', // from the start
        'page#1',
        'page:2#1', // under the same key
        'limited#1', // killed while it rested
        'limited#2', // killed
        'limited#2', // from the rest on
        'last#1', // killed
        'limited#2', // from the rest on: later tasks were not saved
        'last#1',
      ])
      expect(runs.size).toBe(1)
      expect((await engine.results(id)).get('step')).toBe('8')
      expect(await store.read.slot({ instanceId: id, key: SLOT.context.key('first') })).toBe('7')
    } finally {
      for (const process of living) await process.kill()
      await engine.close()
      await store.close()
      await drop()
    }
  })
})
