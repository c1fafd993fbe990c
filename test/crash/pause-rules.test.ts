/**
 * A process that pauses or resumes a definition or a type is killed with SIGKILL: before its commit nothing has happened, after
 * it everything follows, and the same request to another process ends the same.
 */
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { quotaKey } from '../../src/model/limits.ts'
import type { PauseKey } from '../../src/model/pauses/pauses.ts'
import { type Drive, net, node } from '../engine/drive.ts'
import { SHARED } from '../inbox/foreign.ts'
import { Stage } from '../inbox/stage.ts'
import { built, Program } from './process.ts'

const PROGRAM = fileURLToPath(new URL('going-back.mjs', import.meta.url))
const POINTS = ['before-commit', 'after-commit'] as const
const CONFLICT = { code: 'conflict' }

describe.each(SHARED)(
  'pauses of definitions and types, killed with SIGKILL, on $name',
  { timeout: 60_000 },
  (place) => {
    let dist = ''
    let s: Stage
    let d: Drive
    let program: Program | null = null
    beforeAll(() => {
      dist = built()
    }, 120_000)
    beforeEach(async () => {
      s = await Stage.open(place, { pollMs: 600_000 })
      d = s.d
    })
    afterEach(async () => {
      await program?.kill()
      program = null
      expect(await d.doctor()).toEqual([])
      await s.close()
    }, 120_000)

    async function killedIn(verb: string, params: object, point: string): Promise<void> {
      program = new Program(PROGRAM, { dist, url: s.url, verb, params, point })
      expect(await program.line('stopped')).toEqual({ stopped: point })
      expect(await program.kill()).toBe('SIGKILL')
    }
    const isPaused = async (key: PauseKey) => (await d.store.pauses.get(key))?.state === 'paused'
    const flow = net([node('a')], { name: 'order' })
    const begin = async () => (await d.engine.start([{ net: flow, slots: 5 }]))[0]?.id as string

    it.each(POINTS)('a definition, %s', async (point) => {
      const key = { kind: 'definition', key: quotaKey('order', null) } as const
      const because = { name: 'order', tenant: null, actor: 'ada', reason: 'wrong price' }
      const happened = point === 'after-commit'
      await killedIn('pauseDefinition', because, point)
      expect(await isPaused(key)).toBe(happened)
      if (happened) await expect(d.engine.pauseDefinition(because)).rejects.toMatchObject(CONFLICT)
      else await d.engine.pauseDefinition(because)
      const waiting = await begin()
      expect(await d.state(waiting)).toBe('queued')
      expect(await d.claim()).toEqual([])

      await killedIn('resumeDefinition', { name: 'order', tenant: null, actor: 'bob' }, point)
      expect(await isPaused(key)).toBe(!happened)
      const again = d.engine.resumeDefinition({ name: 'order', tenant: null, actor: 'bob' })
      if (happened) await expect(again).rejects.toMatchObject(CONFLICT)
      else await again
      // What the killed process would have begun begins with a sweep of any other.
      await d.engine.sweep()
      await d.engine.sweep()
      expect(await d.work()).toEqual(['a'])
      expect(await d.state(waiting)).toBe('completed')
      expect(await d.store.pauses.get(key)).toBeNull()
    })

    it.each(POINTS)('a type, %s', async (point) => {
      const key = { kind: 'type', key: 'a' } as const
      const because = { type: 'a', actor: 'ada', reason: null }
      const happened = point === 'after-commit'
      const waiting = await begin()
      await killedIn('pauseType', because, point)
      expect(await isPaused(key)).toBe(happened)
      if (happened) await expect(d.engine.pauseType(because)).rejects.toMatchObject(CONFLICT)
      else await d.engine.pauseType(because)
      expect(await d.claim()).toEqual([])

      await killedIn('resumeType', { type: 'a', actor: 'bob' }, point)
      expect(await isPaused(key)).toBe(!happened)
      const again = d.engine.resumeType({ type: 'a', actor: 'bob' })
      if (happened) await expect(again).rejects.toMatchObject(CONFLICT)
      else await again
      await d.engine.sweep()
      expect(await d.work()).toEqual(['a'])
      expect(await d.state(waiting)).toBe('completed')
    })
  },
)
