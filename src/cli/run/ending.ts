/** The result of running one definition, for the shell: the exit code, the summary, the projection. */
import type { InstanceRow } from '../../model/rows.ts'
import { TERMINAL } from '../../net/marking.ts'
import { projectionOf } from '../../notations/notations.ts'
import type { InstanceView } from '../../views/view.ts'
import { span } from '../../views/words.ts'
import { viewWire } from '../../wire/instance.ts'
import { json, type Wire } from '../../wire/value.ts'
import { EXIT } from '../terminal/failure.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { brief, headline, paintState, placeOf } from '../terminal/words.ts'
import type { ShellReading } from './reading.ts'
import type { Wait } from './waits.ts'

/** Only a complete success counts: partial, cancelled and compensated work did not do what was asked. */
export function exitOf(row: InstanceRow): number {
  return row.state === 'completed' && row.outcome === 'success' ? EXIT.ok : EXIT.failed
}

export async function projection(reading: ShellReading, view: InstanceView, waits: readonly Wait[]): Promise<Wire> {
  const { instance } = view
  const [results, own] = await Promise.all([
    reading.results(instance.id),
    projectionOf(instance).own?.(reading, instance),
  ])
  return {
    ...viewWire(view),
    ...own?.json,
    results: Object.fromEntries([...results].map(([node, text]) => [node, json(text)])),
    waiting_for: waits,
  }
}

export async function printEnding(
  terminal: Terminal,
  reading: ShellReading,
  view: InstanceView,
  how: { readonly waits: readonly Wait[]; readonly note: string },
): Promise<void> {
  const { instance, error, undoError } = view
  const { succeeded, failed } = (await projectionOf(instance).own?.(reading, instance))?.counts ?? instance
  const state = headline(instance)
  const time = instance.endedAt === null ? '' : ` in ${span(instance.endedAt - instance.createdAt)}${how.note}`
  const tally = `${succeeded} succeeded, ${failed} failed`
  terminal.print(
    `${terminal.paint('bold', instance.name)} ${paintState(terminal, state)}${time}: ${tally}  ${terminal.paint('dim', instance.id)}`,
  )
  if (error !== null) terminal.print(`  ${error.code}: ${brief(error.message, 200)}`)
  if (undoError !== null) terminal.print(`  the undo failed too: ${undoError.code}: ${brief(undoError.message, 200)}`)
  if (TERMINAL.has(instance.state)) {
    for (const run of view.runs.filter((r) => r.status === 'failed').slice(0, 10)) {
      const failure = json(run.error) as { readonly code?: string; readonly message?: string } | null
      if (failure?.message !== error?.message)
        terminal.print(`  ${placeOf(run)}: ${brief(run.lastError ?? failure?.message ?? 'failed', 200)}`)
    }
  }
  for (const wait of how.waits) terminal.print(`  ${wait.text}`)
}
