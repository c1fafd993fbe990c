/** runs ls | show | events | cancel | delete: the runs in the inbox, and their outcomes. */
import type { Command } from 'commander'
import { unscopedName } from '../../kernel/scoped-names.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Perform } from '../../operations/operation.ts'
import { cancelRun, deleteRun } from '../../operations/runs/change.ts'
import { listInboxRuns, showRun, wholeRunHistory } from '../../operations/runs/look.ts'
import { countFoundRuns, findRuns } from '../../operations/search/search.ts'
import { runEventWire } from '../../wire/event.ts'
import { inboxRunWire } from '../../wire/inbox-run.ts'
import { readInboxQuery } from '../../wire/requests/inbox-list.ts'
import { countsWire } from '../../wire/requests/search.ts'
import { RUN_STATUSES } from '../../wire/run.ts'
import { hinting } from '../inbox.ts'
import { withOperations } from '../process/connect.ts'
import { pagesOf, printCounts, printEnd, refuseFilters } from '../search.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../terminal/act.ts'
import { EXIT } from '../terminal/failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { ago, brief, clock, paintState, placeOf, runState } from '../terminal/words.ts'

interface LsOptions extends Shared {
  readonly type?: string
  readonly status?: string
  readonly key?: string
  readonly queue?: string
  readonly deleted?: boolean
  readonly counts?: boolean
  readonly limit: number
  readonly before?: string
}

export function defineRuns(program: Command): void {
  const runs = program.command('runs').description('runs of the inbox: ls, show, events, cancel, delete')
  defineLs(runs)
  one(runs, 'show', 'show a run', async (terminal, perform, id) => show(terminal, await perform(showRun, { id })))
  one(runs, 'events', 'its whole history', events)
  one(runs, 'cancel', 'cancel a run, also one that a worker holds', async (terminal, perform, id) =>
    changed(terminal, await perform(cancelRun, { id })),
  )
  one(runs, 'delete', 'hide a run from workers and lists; its key stays taken', async (terminal, perform, id) =>
    changed(terminal, await perform(deleteRun, { id }), 'deleted'),
  )
}

function defineLs(runs: Command): void {
  const ls = runs
    .command('ls', { isDefault: true })
    .argument('[query]', "filters, of runs of any origin: 'status:failed type:billing.* attempt:>2'")
    .description('list runs, newest first')
    .option('--type <type>', 'only of this type, or with this prefix: billing.%')
    .option('--status <status>', `one or more, by comma: ${RUN_STATUSES.join(', ')}`)
    .option('--key <key>', 'the one with this idempotency key')
    .option('--queue <name>', 'only of this queue')
    .option('--deleted', 'deleted runs')
    .option('--counts', 'how many the query finds, by status')
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 20)
    .option('--before <place>', 'the start of the next page, as printed by the page before')
  jsonOption(storeOptions(ls)).action(
    act<LsOptions, readonly [string | undefined]>(async (terminal, options, q) => {
      if (options.counts === true) return count(terminal, options, q ?? '')
      if (q !== undefined) return find(terminal, options, q)
      const { type, status, key, queue, deleted, limit, before } = options
      const query = readInboxQuery({
        type,
        status,
        idempotency_key: key,
        queue,
        deleted: deleted === true ? 'true' : 'false',
        limit: String(limit),
        before,
      })
      const page = await withOperations(options, (perform) => perform(listInboxRuns, query))
      if (terminal.json) terminal.data({ runs: page.runs.map(inboxRunWire), next_before: page.next })
      else if (page.runs.length === 0) terminal.print('no runs')
      else {
        table(terminal, page.runs)
        if (page.next !== null) terminal.print(terminal.paint('dim', `older ones: --before ${page.next}`))
      }
      return EXIT.ok
    }),
  )
}

const FILTERS = ['type', 'status', 'key', 'queue', 'deleted'] as const

async function find(terminal: Terminal, options: LsOptions, q: string): Promise<number> {
  refuseFilters(options, FILTERS)
  const { rows, next } = await withOperations(options, (perform) =>
    pagesOf(options, (page) => perform(findRuns, { q, ...page })),
  )
  if (terminal.json) terminal.data({ runs: rows.map(inboxRunWire), next_before: next })
  else {
    if (rows.length > 0) table(terminal, rows)
    printEnd(terminal, { what: 'runs', found: rows.length, limit: options.limit, next })
  }
  return EXIT.ok
}

async function count(terminal: Terminal, options: LsOptions, q: string): Promise<number> {
  refuseFilters(options, FILTERS)
  const counts = await withOperations(options, (perform) => perform(countFoundRuns, { q }))
  if (terminal.json) terminal.data(countsWire(counts))
  else printCounts(terminal, counts, 'runs')
  return EXIT.ok
}

function table(terminal: Terminal, runs: readonly RunRow[]): void {
  const now = Date.now()
  terminal.table(
    [
      { title: 'RUN' },
      { title: 'TYPE' },
      { title: 'STATE' },
      { title: 'FAILED', align: 'right' },
      { title: 'BY' },
      { title: 'CREATED' },
      { title: 'ERROR' },
    ],
    runs.map((run) => [
      run.id,
      run.type,
      paintState(terminal, runState(run, now)),
      `${run.attempt}/${run.maxAttempts}`,
      brief(run.leasedBy ?? '', 30),
      ago(run.createdAt, now),
      brief(run.lastError ?? ''),
    ]),
  )
}

type Act = (terminal: Terminal, perform: Perform, id: string) => Promise<void>

function one(runs: Command, name: string, description: string, work: Act): void {
  const command = runs.command(name).argument('<id>', 'as runs ls shows it').description(description)
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>((terminal, options, id) =>
      withOperations(options, async (perform) => {
        await hinting('`petrel runs ls` lists those of the inbox', work(terminal, perform, id))
        return EXIT.ok
      }),
    ),
  )
}

function show(terminal: Terminal, run: RunRow): void {
  if (terminal.json) return terminal.data({ run: inboxRunWire(run) })
  const lines: readonly (readonly [string, string | null])[] = [
    ['id', run.id],
    ['key', unscopedName(run.idempotencyKey)],
    ['instance', run.instanceId === null ? null : `${run.instanceId} at ${placeOf(run)}`],
    ['queue', `${run.queue}, priority ${run.priority}`],
    ['fair key', unscopedName(run.fairKey)],
    ['tenant', run.tenant],
    ['created', clock(run.createdAt)],
    ['due', run.status === 'pending' ? clock(run.plannedAt ?? run.runAt) : null],
    ['failed', `${run.attempt} of ${run.maxAttempts} executions`],
    [
      'held by',
      run.leasedBy === null
        ? null
        : `${run.leasedBy}${run.leaseUntil === null ? '' : ` until ${clock(run.leaseUntil)}`}`,
    ],
    ['payload', brief(run.payload, 200)],
    ['result', run.result === null ? null : brief(run.result, 200)],
    ['error', run.lastError === null ? null : brief(run.lastError, 200)],
    ['deleted', run.deletedAt === null ? null : clock(run.deletedAt)],
  ]
  terminal.print(`${terminal.paint('bold', run.type)}  ${paintState(terminal, runState(run, Date.now()))}`)
  for (const [name, value] of lines) if (value !== null) terminal.print(`${name.padEnd(9)} ${brief(value, 600)}`)
}

async function events(terminal: Terminal, perform: Perform, id: string): Promise<void> {
  const history = await perform(wholeRunHistory, { id })
  if (terminal.json) return terminal.data({ events: history.map(runEventWire) })
  terminal.table(
    [{ title: 'AT' }, { title: 'EVENT' }, { title: 'BY' }, { title: 'DATA' }],
    history.map((e) => [clock(e.at), e.type, brief(e.actor ?? ''), e.data === null ? '' : brief(e.data, 80)]),
  )
}

function changed(terminal: Terminal, run: RunRow, word: string = run.status): void {
  if (terminal.json) terminal.data({ run: inboxRunWire(run) })
  else terminal.print(`run ${run.id} (${run.type}) is ${paintState(terminal, word)}`)
}
