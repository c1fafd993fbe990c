/** The small workflow that `petrel dev` runs, and follows, at its start: a chain with a group inside, one job of which needs a retry. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Definition } from '../../notations/source/definition.ts'
import { readDefinition } from '../../operations/definitions/read.ts'
import type { Context } from '../../worker/context.ts'
import { type Handler, Handlers } from '../../worker/handlers.ts'

const WORKFLOW = `
type: chain
name: demo
steps:
  - type: demo.fetch
    args: [petrel.jpg]
  - type: group
    name: demo-sizes
    jobs:
      - { type: demo.resize, args: [320] }
      - { type: demo.resize, args: [640], retry: { max_attempts: 3, initial_interval: 200ms, jitter: false } }
      - { type: demo.resize, args: [1280] }
  - type: demo.publish
`

export function demoDefinition(): Promise<Definition> {
  return readDefinition('demo', WORKFLOW)
}

export function addDemoHandlers(own: Handlers | null): Handlers {
  const handlers = own ?? new Handlers()
  const add = (type: string, handler: (args: readonly unknown[], ctx: Context) => unknown): void =>
    handlers.add(type, handler as unknown as Handler)
  add('demo.fetch', async ([file], ctx) => {
    await sleep(250, undefined, { signal: ctx.signal })
    return { file, bytes: 123_456 }
  })
  add('demo.resize', async ([width], ctx) => {
    await sleep(150 + Number(width) / 8, undefined, { signal: ctx.signal })
    if (width === 640 && ctx.attempt === 1) throw new Error('out of memory (a planned hiccup, tried again)')
    return { width }
  })
  add('demo.publish', async (_, ctx) => {
    await sleep(200, undefined, { signal: ctx.signal })
    return { published: true }
  })
  return handlers
}
