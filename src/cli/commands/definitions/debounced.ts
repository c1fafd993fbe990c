/** debounced ls | start | cancel: starts that wait until no other has followed under their key. */
import type { Command } from 'commander'
import type { DebounceRow } from '../../../model/schedules/debounce.ts'
import { storeTime } from '../../../operations/clock.ts'
import { cancelDebounced, listDebounced, startDebounced } from '../../../operations/debounced/debounced.ts'
import type { Operation } from '../../../operations/operation.ts'
import { debouncedListWire, debouncedWire } from '../../../wire/operate/debounced.ts'
import { hinting } from '../../inbox.ts'
import { withOperations } from '../../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../../terminal/act.ts'
import { EXIT } from '../../terminal/failure.ts'
import { harmless, type Terminal } from '../../terminal/terminal.ts'
import { ago, clock } from '../../terminal/words.ts'

interface ListOptions extends Shared {
  readonly limit: number
  readonly before?: string
}

export function defineDebounced(program: Command): void {
  const debounced = program.command('debounced').description('debounced starts that wait: ls, start, cancel')
  const ls = debounced
    .command('ls', { isDefault: true })
    .description('list them, the newest series first')
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 50)
    .option('--before <id>', 'continue where the last page ended')
  jsonOption(storeOptions(ls)).action(
    act<ListOptions>((terminal, { limit, before = null, ...options }) =>
      withOperations(options, async (perform) => {
        const { rows, more } = await perform(listDebounced, { limit, before })
        const wire = debouncedListWire(rows, more)
        if (terminal.json) terminal.data(wire)
        else if (rows.length === 0) terminal.print('no debounced start waits')
        else terminal.table(COLUMNS, lines(rows, await perform(storeTime, null)))
        if (!terminal.json && wire.next_before !== null) {
          terminal.print(terminal.paint('dim', `more: petrel debounced --before ${wire.next_before}`))
        }
        return EXIT.ok
      }),
    ),
  )
  one(debounced, 'start', 'start one now', { of: startDebounced, said: 'has started' })
  one(debounced, 'cancel', 'start nothing', { of: cancelDebounced, said: 'is cancelled' })
}

function one(
  debounced: Command,
  verb: string,
  about: string,
  { of, said }: { readonly of: Operation<{ readonly id: string }, DebounceRow>; readonly said: string },
): void {
  const command = debounced.command(verb).argument('<id>', 'of the instance or run that it makes').description(about)
  jsonOption(storeOptions(command)).action(
    act<Shared, readonly [string]>(async (terminal, options, id) => {
      const work = withOperations(options, (perform) => perform(of, { id }))
      const row = await hinting('`petrel debounced` lists those that wait', work)
      if (terminal.json) terminal.data({ debounced: debouncedWire(row) })
      else terminal.print(`${row.kind} ${row.id} of ${harmless(row.name)} ${said}`)
      return EXIT.ok
    }),
  )
}

const COLUMNS: Parameters<Terminal['table']>[0] = [
  { title: 'ID' },
  { title: 'KIND' },
  { title: 'NAME' },
  { title: 'KEY' },
  { title: 'STARTS' },
  { title: 'FIRST' },
  { title: 'REPLACED', align: 'right' },
]

function lines(rows: readonly DebounceRow[], now: number): readonly (readonly string[])[] {
  return rows.map((row) => [
    row.id,
    row.kind,
    harmless(row.name),
    harmless(debouncedWire(row).key),
    clock(row.dueAt),
    ago(row.firstAt, now),
    String(row.replaced),
  ])
}
