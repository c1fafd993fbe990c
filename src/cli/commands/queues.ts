/** queues, queues show, dead, redrive: the state of the queues, and dead letters. */
import type { Command } from 'commander'
import { readId } from '../../kernel/ids.ts'
import { listQueueLoads, pauseQueue, type QueueLoad, reportQueue } from '../../operations/queues/queues.ts'
import { listWeights, removeWeight, setWeight } from '../../operations/queues/weights.ts'
import { redriveRun } from '../../operations/runs/change.ts'
import { listRuns } from '../../operations/runs/look.ts'
import { type QueueReportWire, queueReportWire } from '../../wire/operate/queue.ts'
import { runWire } from '../../wire/run.ts'
import { noSuch } from '../lookup.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../terminal/act.ts'
import { EXIT } from '../terminal/failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { ago, brief } from '../terminal/words.ts'

interface QueuesOptions extends Shared {
  readonly pause?: string
  readonly resume?: string
}

export function defineQueues(program: Command): void {
  const command = program
    .command('queues')
    .description('list queues: pending and active runs')
    .option('--pause <queue>', 'stop handing out work of this queue')
    .option('--resume <queue>', 'hand out its work again')
  defineShow(command)
  defineWeigh(command)
  jsonOption(storeOptions(command)).action(
    act<QueuesOptions>((terminal, options) =>
      withOperations(options, async (perform) => {
        const { pause, resume } = options
        if (pause !== undefined) await perform(pauseQueue, { name: pause, paused: true })
        if (resume !== undefined) await perform(pauseQueue, { name: resume, paused: false })
        const queues = await perform(listQueueLoads, null)
        if (terminal.json) terminal.data({ queues })
        else if (queues.length === 0) terminal.print('no queues')
        else {
          terminal.table(
            [
              { title: 'QUEUE' },
              { title: 'STATE' },
              { title: 'PENDING', align: 'right' },
              { title: 'LEASED', align: 'right' },
            ],
            queues.map((q) => [
              q.name,
              q.paused ? terminal.paint('yellow', 'paused') : 'running',
              countText(q),
              String(q.leased),
            ]),
          )
        }
        return EXIT.ok
      }),
    ),
  )
}

/** Of a long queue that has not been counted yet: 10,000+. */
function countText({ pending, accuracy }: QueueLoad): string {
  return `${accuracy === 'estimated' ? '~' : ''}${pending.toLocaleString('en-US')}${accuracy === 'at_least' ? '+' : ''}`
}

interface ShowOptions extends Shared {
  readonly minutes: number
}

function defineShow(queues: Command): void {
  const show = queues
    .command('show')
    .argument('<queue>', 'its name')
    .description('what waits in a queue, for how long, and what passes through')
    .option('--minutes <n>', 'rates and waiting times of this many minutes, at most 60', wholeNumber(1, 'minutes'), 5)
  jsonOption(storeOptions(show)).action(
    act<ShowOptions, readonly [string]>((terminal, options, name) =>
      withOperations(options, async (perform) => {
        const minutes = Math.min(options.minutes, 60)
        const stats = queueReportWire(await perform(reportQueue, { name, minutes, counted: true }))
        const weights = await perform(listWeights, { queue: name })
        if (terminal.json) terminal.data({ ...stats, weights })
        else {
          print(terminal, stats)
          for (const { key, tenant, weight } of weights) {
            terminal.print(`${'weight'.padEnd(12)} ${weight} of ${key}${tenant === null ? '' : ` (${tenant})`}`)
          }
        }
        return EXIT.ok
      }),
    ),
  )
}

interface WeighOptions extends Shared {
  readonly tenant?: string
  readonly remove?: boolean
}

function defineWeigh(queues: Command): void {
  const weigh = queues
    .command('weigh')
    .argument('<queue>', 'its name')
    .argument('<key>', 'a key that runs share the queue under')
    .argument('[weight]', 'how many runs the key gives in its turn, from 1 to 100')
    .description('set how much a key of a queue weighs')
    .option('--tenant <name>', 'the key of this tenant')
    .option('--remove', 'it weighs 1 again')
  jsonOption(storeOptions(weigh)).action(
    act<WeighOptions, readonly [string, string, string?]>((terminal, options, queue, key, weight) =>
      withOperations(options, async (perform) => {
        const named = { queue, key, tenant: options.tenant ?? null }
        if (options.remove === true) await perform(removeWeight, named)
        else await perform(setWeight, { ...named, weight: Number(weight) })
        const weights = await perform(listWeights, { queue })
        if (terminal.json) terminal.data({ weights })
        else terminal.print(`${key} weighs ${weights.find((one) => one.key === key)?.weight ?? 1} in queue ${queue}`)
        return EXIT.ok
      }),
    ),
  )
}

function print(
  terminal: Terminal,
  { depth, per_minute: rates, waits, run_time: took, utilisation, ...stats }: QueueReportWire,
): void {
  const { pending, available, scheduled, retryable, held, active, accuracy } = depth
  const seconds = (value: number | null): string => (value === null ? '–' : `${value} s`)
  const share = (value: number | null): string => (value === null ? '–' : `${Math.round(value * 100)} %`)
  const lines: readonly (readonly [string, string])[] = [
    ['queue', `${stats.queue}${stats.paused ? ` (${terminal.paint('yellow', 'paused')})` : ''}`],
    [
      'pending',
      `${pending} (${accuracy}): ${available} due, ${scheduled} scheduled, ${retryable} to retry, ${held} held`,
    ],
    ['active', String(active)],
    ['oldest due', seconds(stats.oldest_age_seconds)],
    ['per minute', `${rates.arrived} arrived, ${rates.started} started, ${rates.ended} ended`],
    [
      'waits',
      `mean ${seconds(waits.mean_seconds)}, half up to ${seconds(waits.p50_seconds)}, 95 % up to ${seconds(waits.p95_seconds)}`,
    ],
    [
      'run time',
      `mean ${seconds(took.mean_seconds)}, half up to ${seconds(took.p50_seconds)}, 95 % up to ${seconds(took.p95_seconds)}`,
    ],
    [
      'utilisation',
      `${share(utilisation.now)} now, ${share(utilisation.recent)} recently, of ${utilisation.concurrency}`,
    ],
  ]
  for (const [name, value] of lines) terminal.print(`${name.padEnd(12)} ${value}`)
}

interface DeadOptions extends Shared {
  readonly queue?: string
  readonly limit: number
}

export function defineDead(program: Command): void {
  const command = program
    .command('dead')
    .description('list dead letters: runs that failed for good and were kept')
    .option('--queue <queue>', 'only of this queue')
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 20)
  jsonOption(storeOptions(command)).action(
    act<DeadOptions>((terminal, options) =>
      withOperations(options, async (perform) => {
        const { queue = null, limit } = options
        const asked = { status: null, queue, type: null, deadLetter: true, limit, before: null }
        const runs = await perform(listRuns, asked)
        if (terminal.json) terminal.data({ runs: runs.map(runWire) })
        else if (runs.length === 0) terminal.print('no dead letters')
        else {
          const now = Date.now()
          terminal.table(
            [
              { title: 'RUN' },
              { title: 'TYPE' },
              { title: 'QUEUE' },
              { title: 'ATTEMPTS', align: 'right' },
              { title: 'FAILED' },
              { title: 'ERROR' },
            ],
            runs.map((r) => [
              r.id,
              r.type,
              r.queue,
              String(r.attempt),
              ago(r.finishedAt, now),
              brief(r.lastError ?? ''),
            ]),
          )
        }
        return EXIT.ok
      }),
    ),
  )
}

export function defineRedrive(program: Command): void {
  const command = program
    .command('redrive')
    .argument('<run>', 'a failed, cancelled or dead-lettered run')
    .description('run an ended run again, from its first attempt')
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>((terminal, options, runId) =>
      withOperations(options, async (perform) => {
        const id = readId(runId)
        if (id === null) throw noSuch('run', runId)
        const run = await perform(redriveRun, { id })
        if (terminal.json) terminal.data({ run: runWire(run) })
        else terminal.print(`run ${run.id} (${run.type}) is ${run.status} again`)
        return EXIT.ok
      }),
    ),
  )
}
