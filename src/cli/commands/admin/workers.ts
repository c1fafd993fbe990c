/** workers: who executes work, and which build of it. */
import type { Command } from 'commander'
import { storeTime } from '../../../operations/clock.ts'
import { listMissing } from '../../../operations/workers/missing.ts'
import { pageOfWorkers, type WorkerListed } from '../../../operations/workers/workers.ts'
import { missingWire, workerWire } from '../../../wire/operate/worker.ts'
import { withOperations } from '../../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../../terminal/act.ts'
import { EXIT } from '../../terminal/failure.ts'
import { harmless, type Terminal } from '../../terminal/terminal.ts'
import { ago } from '../../terminal/words.ts'

type Missing = ReturnType<typeof missingWire>['missing'][number]

interface ListOptions extends Shared {
  readonly limit: number
  readonly after?: string
}

export function defineWorkers(program: Command): void {
  const command = program
    .command('workers')
    .description('the workers of this store: build, state, and how many runs each holds')
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 200)
    .option('--after <id>', 'continue where the last page ended')
  jsonOption(storeOptions(command)).action(
    act<ListOptions>((terminal, { limit, after = null, ...options }) =>
      withOperations(options, async (perform) => {
        const { rows, more } = await perform(pageOfWorkers, { limit, after })
        const next = more ? (rows.at(-1)?.worker.id ?? null) : null
        const workers = rows.map(({ worker, active }) => workerWire(worker, active))
        const { missing } = missingWire(await perform(listMissing, null))
        if (terminal.json) terminal.data({ workers, next_after: next, missing })
        else if (rows.length === 0) terminal.print('no workers')
        else terminal.table(COLUMNS, lines(rows, await perform(storeTime, null)))
        if (next !== null && !terminal.json) {
          terminal.print(terminal.paint('dim', `more: petrel workers --after '${harmless(next)}'`))
        }
        if (!terminal.json) for (const one of missing) terminal.print(missingText(terminal, one))
        return EXIT.ok
      }),
    ),
  )
}

function missingText(terminal: Terminal, { queue, type, due, more }: Missing): string {
  const runs = `${due}${more ? '+' : ''} due in queue ${harmless(queue)}`
  return `${terminal.paint('yellow', 'no live worker')} takes ${harmless(type)}: ${runs}`
}

const COLUMNS: Parameters<Terminal['table']>[0] = [
  { title: 'WORKER' },
  { title: 'BUILD' },
  { title: 'STATE' },
  { title: 'ACTIVE', align: 'right' },
  { title: 'OF', align: 'right' },
  { title: 'RUNTIME' },
  { title: 'HEARTBEAT' },
]

function lines(rows: readonly WorkerListed[], now: number): readonly (readonly string[])[] {
  return rows.map(({ worker, active }) => [
    harmless(workerWire(worker, active).name),
    harmless(worker.build ?? ''),
    worker.state,
    active === null ? '?' : String(active),
    String(worker.concurrency),
    harmless(worker.runtime),
    ago(worker.heartbeatAt, now),
  ])
}
