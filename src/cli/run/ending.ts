/** How a run of one definition ends for the shell: the exit code, the summary, the projection. */
import type { EngineApi, InstanceView } from '../../engine/api.ts'
import { TERMINAL } from '../../net/marking.ts'
import { json, viewWire, type Wire } from '../../server/wire.ts'
import type { InstanceRow } from '../../store/rows.ts'
import { EXIT } from '../failure.ts'
import type { Terminal } from '../terminal.ts'
import { brief, instanceState, paintState, placeOf, span } from '../words.ts'
import type { Wait } from './waits.ts'

/** Only a whole success is one: partial, cancelled and compensated work did not do what was asked. */
export function exitOf(row: InstanceRow): number {
  return row.state === 'completed' && row.outcome === 'success' ? EXIT.ok : EXIT.failed
}

export async function projection(engine: EngineApi, view: InstanceView, waits: readonly Wait[]): Promise<Wire> {
  const { loadStatus } = await import('../../dialects/dag/status/load.ts')
  const [results, status] = await Promise.all([engine.results(view.instance.id), loadStatus(engine, view.instance)])
  return {
    ...viewWire(view),
    ...(status === null ? {} : { status }),
    results: Object.fromEntries([...results].map(([node, text]) => [node, json(text)])),
    waiting_for: waits,
  }
}

export function printEnding(terminal: Terminal, view: InstanceView, waits: readonly Wait[], note: string): void {
  const { instance, error, undoError } = view
  const state = instanceState(instance)
  const time = instance.endedAt === null ? '' : ` in ${span(instance.endedAt - instance.createdAt)}${note}`
  const tally = `${instance.succeeded} succeeded, ${instance.failed} failed`
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
  for (const wait of waits) terminal.print(`  ${wait.text}`)
}
