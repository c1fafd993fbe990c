/** The progress of a bulk operation, until it ends. */
import { sleep } from '../../../kernel/sleep.ts'
import type { Operation } from '../../../model/bulk/rows.ts'
import { showBulkOperation } from '../../../operations/bulk/look.ts'
import type { Perform } from '../../../operations/operation.ts'
import { operationWire } from '../../../wire/bulk/operation.ts'
import { EXIT } from '../../terminal/failure.ts'
import { interrupted } from '../../terminal/interrupted.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { paintState } from '../../terminal/words.ts'

const LOOK_MS = 250

/** Exits 1 unless every item succeeded. An interruption ends the display only. */
export async function followOperation(perform: Perform, terminal: Terminal, id: string): Promise<number> {
  const stop = interrupted()
  const block = terminal.live ? terminal.redraw() : null
  let shown = ''
  let found = await perform(showBulkOperation, { id })
  for (;;) {
    const line = progressLine(terminal, found)
    if (block !== null) block.draw([line])
    else if (line !== shown) terminal.print(line)
    shown = line
    if (found.state !== 'running' || stop.signal.aborted) break
    await sleep(LOOK_MS, stop.signal)
    found = await perform(showBulkOperation, { id })
  }
  block?.keep()
  stop.ignore()
  if (terminal.json) terminal.data({ operation: operationWire(found) })
  if (found.state === 'running') return EXIT.ok
  return found.state === 'completed' && found.refused + found.failed === 0 ? EXIT.ok : EXIT.failed
}

export function progressLine(terminal: Terminal, found: Operation): string {
  const { action, target, state, selecting, matched, pending, succeeded, refused, failed } = found
  const parts = [
    `${succeeded} succeeded`,
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(pending > 0 ? [`${pending} pending`] : []),
  ]
  const of = `${matched}${selecting && state === 'running' ? '+' : ''} ${target}`
  return `${action.replace('_', ' ')} ${of}  ${paintState(terminal, state)}  ${parts.join(', ')}`
}
