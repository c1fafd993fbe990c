/**
 * A worker in TypeScript. It uses the SDK on the store itself: jobs enqueued over HTTP are rows like any other, and the
 * types of other steps' results are declared here, where they enter.
 *
 *   PETREL_STORE=sqlite:.petrel/petrel.db node examples/polyglot/build/worker.js
 */
import { Petrel } from 'petrel'

interface Measured {
  readonly text: string
  readonly words: number
  readonly sha256: string
}

interface Shouted {
  readonly text: string
  readonly by: string
}

const petrel = await Petrel.open(process.env['PETREL_STORE'] ?? 'sqlite:.petrel/petrel.db')

petrel.handle<[page: string]>('text.publish', async ([page], ctx) => {
  const { 0: measured, 1: shouted } = (await ctx.results()) as { readonly 0: Measured; readonly 1: Shouted }
  return {
    title: `${shouted.text} (${measured.words} words, ${page})`,
    languages: ['Python', shouted.by, 'TypeScript'],
  }
})

await petrel.work({ queues: ['typescript'] })
console.log('the TypeScript worker works on typescript')

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void petrel.close().then(() => process.exit(0)))
}
