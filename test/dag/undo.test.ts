/**
 * The law of compensation: whatever fails, is skipped, times out, comes late or dies, exactly the completed steps that
 * have a compensation are undone, the last completed first, each once, one at a time; and none unless the policy
 * requires it. Random DAG workflows through the real engine on real stores.
 */
import { expect, test } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { openStore } from '../../src/store/open.ts'
import { STORES } from './stores.ts'
import { runCases } from './undo-cases.ts'

const full = process.env['PETREL_TEST_FULL'] === '1'
const count = Number(process.env['PETREL_TEST_CASES'] ?? (full ? 1_000 : 60))
/** Always the same few by default, others with every full run. */
const seed = Number(process.env['PETREL_TEST_SEED'] ?? (full ? Date.now() % 1_000_000_000 : 818_306_075))

/** What a thousand cases must have covered. */
const MUST_SEE = [
  ...['forward', 'drain', 'undo'].flatMap((phase) => [`crash in ${phase}`, `late success in ${phase}`]),
  ...['before', 'after'].flatMap((when) => [`crash ${when}-commit in forward`, `crash ${when}-commit in undo`]),
  ...['abort', 'cancel', 'compensate'].map((reason) => `reason ${reason}`),
  ...['completed', 'failed', 'cancelled', 'compensated'].map((end) => `end ${end}`),
  ...['timeout', 'worker_lost'].flatMap((code) => [`given up in forward: ${code}`, `given up in drain: ${code}`]),
  ...['deadline in forward', 'success in drain', 'failure in drain', 'hand-off of undo', 'undo of several'],
  ...['skip', 'nested', 'rolled back with its parent in forward', 'two at once', 'session lost'],
]

test.each(STORES)(`on $name: ${count} cases, seed ${seed}`, { timeout: full ? 1_800_000 : 120_000 }, async (store) => {
  const { url, drop } = await store.open()
  const began = performance.now()
  try {
    const { failure, played, coverage } = await runCases({ Engine, openStore, readDefinition }, url, {
      count,
      seed,
      shrink: true,
      ...(full ? {} : { withinMs: 25_000 }),
    })
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    const seen = [...coverage].sort(([a], [b]) => (a < b ? -1 : 1)).map(([what, times]) => `${what} ${times}`)
    console.log(
      `${store.name}: ${played} cases, seed ${seed}, ${seconds} s; cases in which was seen:\n  ${seen.join('\n  ')}`,
    )
    expect(failure ?? '').toBe('')
    if (played >= 1_000) expect(MUST_SEE.filter((what) => !coverage.has(what))).toEqual([])
  } finally {
    await drop()
  }
})
