// @ts-check
/** The few statistics that a benchmark needs. */

/** @param {readonly number[]} values @param {number} share between 0 and 1 */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

/** @param {readonly number[]} values */
export function median(values) {
  const [low = Number.NaN, high = low] = [...values]
    .sort((a, b) => a - b)
    .slice(Math.ceil(values.length / 2) - 1, Math.floor(values.length / 2) + 1)
  return (low + high) / 2
}

/** Milliseconds that `work` took. @param {() => unknown} work */
export async function timed(work) {
  const from = performance.now()
  await work()
  return performance.now() - from
}

/**
 * The cost of `work`: elapsed milliseconds, and microseconds of processor time of this process, which depend little on
 * other load.
 * @param {() => unknown} work
 */
export async function measured(work) {
  const before = process.cpuUsage()
  const ms = await timed(work)
  const { user, system } = process.cpuUsage(before)
  return { ms, cpuMicros: user + system }
}

/**
 * Warm-up rounds before the measured one. The code of a settle is still being compiled for tens of thousands of steps:
 * a first round of 10,000 takes 290 µs of processor time a step, a third 145, a fifth 110.
 */
export const WARM_UP_ROUNDS = 6

/** @param {() => Promise<void>} round */
export async function warmUp(round) {
  for (let i = 0; i < WARM_UP_ROUNDS; i++) await round()
}

/** @param {number} ms */
export function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
