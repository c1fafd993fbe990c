// @ts-check
/**
 * All workloads, in the order of the table. A workload is one file: what it measures, how large it is, and `run`,
 * which drives Petrel through its public SDK and returns one number per metric.
 *
 * @typedef {{ title: string, unit: string, better: 'more' | 'less' }} Metric
 * @typedef {{ readonly [metric: string]: number }} Figures
 * @typedef {{
 *   petrel: import('../src/index.ts').Petrel,
 *   sdk: typeof import('../src/index.ts'),
 *   url: string,
 *   dist: string,
 *   store: import('./stores/store.mjs').BenchStore,
 *   size: number,
 *   meter: import('./meter.mjs').Meter,
 *   loadMs: number,
 *   given: { readonly [name: string]: number },
 *   internal: (path: string) => Promise<any>,
 *   engine: any,
 * }} Bench
 * @typedef {{
 *   name: string,
 *   title: string,
 *   metrics: { readonly [metric: string]: Metric },
 *   size: { full: number, quick: number | null },
 *   run(bench: Bench): Promise<Figures>,
 *   counted?: boolean,
 *   opensItself?: boolean,
 *   stores?: readonly ('sqlite' | 'postgres')[],
 * }} Workload
 * `size.quick`: null leaves it out. `counted`: once more with the meter on, to count rows and WAL bytes. `opensItself`: gets no open Petrel.
 * `stores`: runs on these only.
 */
import bareChains from './workloads/bare-chains.mjs'
import chains from './workloads/chains.mjs'
import commit from './workloads/commit.mjs'
import { dags } from './workloads/dag.mjs'
import drain from './workloads/drain.mjs'
import enqueue from './workloads/enqueue.mjs'
import fair from './workloads/fair.mjs'
import fanOut from './workloads/fan-out.mjs'
import { groups } from './workloads/groups.mjs'
import latency from './workloads/latency.mjs'
import longChain from './workloads/long-chain.mjs'
import { playbookLoops } from './workloads/playbook-loop.mjs'
import saga from './workloads/saga.mjs'
import startUp from './workloads/start-up.mjs'
import triggers from './workloads/triggers.mjs'

/** @type {readonly Workload[]} */
export const workloads = [
  chains,
  bareChains,
  drain,
  fair,
  fanOut,
  commit,
  latency,
  longChain,
  enqueue,
  ...groups,
  ...dags,
  ...playbookLoops,
  saga,
  startUp,
  triggers,
]
