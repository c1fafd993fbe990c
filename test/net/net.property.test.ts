/**
 * Random nets, random outcomes, at random moments: `fire` against the oracle, step by step, and the laws of the world
 * around it. A failing case prints the smallest net and its happenings. PETREL_NET_SEED sets another random seed.
 */
import { expect, test } from 'vitest'
import * as core from '../../src/net/index.ts'
import { runCases } from './cases.ts'

const full = process.env.PETREL_TEST_FULL === '1'
const count = Number(process.env.PETREL_NET_CASES ?? (full ? 50_000 : 10_000))
const seed = Number(process.env.PETREL_NET_SEED ?? 20_260)

/** Cases that a run of the default size must have covered. */
const MUST_SEE = {
  nodes: ['1-5', '6-12', '13-30'],
  node: ['run', 'gate', 'pass', 'child attached', 'child detached', 'each'],
  each: ['eager', 'cursor', 'cursor by expression', 'eager failFast', 'cursor failFast', 'empty', 'failFast drops'],
  'each that': ['collects', 'collects around failures', 'tolerates', 'shares'],
  'each literal of': ['run', 'named work'],
  'each expression of': ['run', 'child'],
  join: ['each', 'count', 'count absorbs', 'scope', 'scope absorbs', 'scope absorbs into an outer scope'],
  scope: ['continues', 'ends', 'nested', 'of several joins'],
  set: ['of a node'],
  'set by a worker in': ['forward', 'drain', 'undo', 'final'],
  separate: ['for its length', 'for its form', 'as if shared'],
  recorded: ['node.admitted', 'node.fired', 'node.routed', 'node.item_ended', 'each.opened', 'each.closed'],
  mode: ['first', 'every'],
  fired: ['again'],
  denied: ['hold', 'discard'],
  held: ['admitted', 'discarded'],
  onFailure: ['net', 'abort', 'skip', 'compensate', 'route'],
  failure: ['handled', 'unhandled', 'falls at once'],
  appeal: ['opened', 'again', 'approved', 'rejected', 'dropped'],
  rerun: ['run', 'gate', 'child', 'item', 'spent', 'refused'],
  unknown: ['ignore', 'stop', 'undo', 'node ignore', 'node stop', 'node undo'],
  'outcome succeeded in': ['forward', 'drain', 'undo', 'final'],
  'outcome failed in': ['forward', 'drain', 'undo', 'final'],
  'outcome unknown in': ['forward', 'drain', 'undo', 'final'],
  'outcome cancelled in': ['forward', 'drain', 'undo', 'final'],
  'late in': ['forward', 'drain', 'undo', 'final'],
  'work gate': ['succeeded', 'failed'],
  'work child': ['succeeded', 'failed', 'unknown', 'cancelled'],
  happening: [
    'queue',
    'start',
    'ended',
    'answered',
    'late',
    'patched',
    'cancel',
    'roll-back',
    'deadline',
    'engine_error',
  ],
  repeat: ['start', 'answered'],
  no: ['match'],
  guard: ['error'],
  'drain with': ['held tokens'],
  'phase forward >': ['drain', 'undo', 'final', 'ended'],
  'phase drain >': ['undo', 'final', 'ended'],
  'phase undo >': ['final', 'ended'],
  'phase final >': ['drain', 'ended'],
  'undo of': ['several', 'unrenderable arguments'],
  reason: ['failure', 'compensate', 'stop', 'cancel', 'deadline', 'engine_error'],
  state: [
    'idle',
    'queued',
    'running',
    'waiting',
    'cancelling',
    'compensating',
    'completed',
    'failed',
    'cancelled',
    'compensated',
  ],
  final: ['always', 'success', 'failure', 'run', 'child', 'pass', 'summary', 'failed fail', 'failed partial'],
  'verdict completed': ['success', 'partial'],
  'verdict failed': ['failed', 'timed_out', 'rolled_back', 'rolled_back_partial', 'on any', 'on unhandled'],
  verdict: ['cancelled cancelled', 'compensated rolled_back'],
  'cut-off': ['cascade'],
} as const

test(`fire moves a net as docs/net.md defines (${count} cases, seed ${seed})`, { timeout: 600_000 }, () => {
  const started = Date.now()
  const { failure, played, coverage } = runCases(core, { count, seed, shrink: true })
  const times = (group: string, what: string) => coverage.get(`${group} ${what}`) ?? 0
  const groups = Object.entries(MUST_SEE)
  const lines = groups.map(
    ([group, all]) => `  ${group}: ${all.map((what) => `${what} ${times(group, what)}`).join(', ')}`,
  )
  console.log(
    `${played} cases, seed ${seed}, ${Date.now() - started} ms; cases in which was seen:\n${lines.join('\n')}`,
  )
  expect(failure ?? '').toBe('')
  const unseen = groups.flatMap(([group, all]) =>
    all.filter((what) => times(group, what) === 0).map((what) => `${group} ${what}`),
  )
  if (count >= 10_000) expect(unseen).toEqual([])
})
