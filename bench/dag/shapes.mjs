// @ts-check
/** Workflows of any size, as an author would write them. Names of steps are `s0`, `s1` … in the order of the file. */

/** The type (and queue) of every step and of every compensation. */
export const STEP = 'bench.step'
export const UNDO = 'bench.undo'

/** @typedef {(steps: number) => readonly (readonly number[])[]} Shape the dependencies of each step */

/** All in parallel, and one that waits for them. @type {Shape} */
export const wide = (steps) => times(steps, (i) => (i < steps - 1 ? [] : times(steps - 1, (j) => j)))

/** One after another. @type {Shape} */
export const deep = (steps) => times(steps, (i) => (i === 0 ? [] : [i - 1]))

/**
 * As many layers as steps per layer, each step waiting for the whole previous layer: 100 × 100 are 990,000
 * dependencies. @type {Shape}
 */
export const dense = (steps) => layers(steps, Math.round(Math.sqrt(steps)))

/** Layers of ten; no two steps wait for the same ones, so that no join can be shared. @type {Shape} */
export const woven = (steps) =>
  times(steps, (i) => {
    const before = Math.floor(i / 10) * 10 - 10
    return before < 0 ? [] : times(10, (j) => before + j).filter((j) => j - before !== i % 10)
  })

/** @param {number} steps @param {number} width */
function layers(steps, width) {
  return times(steps, (i) => {
    const before = (Math.floor(i / width) - 1) * width
    return before < 0 ? [] : times(width, (j) => before + j)
  })
}

/**
 * @param {string} name @param {readonly (readonly number[])[]} dependencies
 * @param {{ compensated?: boolean }} [options] compensated: every step can be undone, and is when one fails
 */
export function workflowText(name, dependencies, { compensated = false } = {}) {
  const lists = new Map()
  return [
    'apiVersion: ioa.dev/v0.2',
    'kind: Workflow',
    `metadata: { name: ${name} }`,
    'spec:',
    '  timeout: 12h',
    ...(compensated ? ['  failurePolicy: compensate'] : []),
    '  steps:',
    ...dependencies.map((on, i) => `    - { name: s${i}, uses: ${STEP}, timeout: 1h${dependsOn(on, lists)} }`),
    ...(compensated
      ? ['  compensation:', ...dependencies.map((_, i) => `    - { step: s${i}, uses: ${UNDO}, timeout: 1h }`)]
      : []),
    '',
  ].join('\n')
}

/** A list shared by many steps is written once, as a YAML alias, which may be used a hundred times. */
const MOST_USES = 100

/** @param {readonly number[]} on @param {Map<string, { name: string, uses: number }>} lists those written so far */
function dependsOn(on, lists) {
  if (on.length === 0) return ''
  const text = `[${on.map((i) => `s${i}`).join(', ')}]`
  if (on.length === 1) return `, dependsOn: ${text}`
  const known = lists.get(text)
  if (known !== undefined && known.uses < MOST_USES) {
    known.uses++
    return `, dependsOn: *${known.name}`
  }
  const name = `list${lists.size}-${known?.name ?? ''}`
  lists.set(text, { name, uses: 0 })
  return `, dependsOn: &${name} ${text}`
}

/** @template T @param {number} n @param {(i: number) => T} make @returns {T[]} */
function times(n, make) {
  return Array.from({ length: n }, (_, i) => make(i))
}
