/** audit: what people have done. */
import type { Command } from 'commander'
import { storeTime } from '../../../operations/clock.ts'
import { readAudit } from '../../../operations/events/audit.ts'
import { auditWire } from '../../../wire/operate/audit.ts'
import { withOperations } from '../../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../../terminal/act.ts'
import { EXIT } from '../../terminal/failure.ts'
import { harmless } from '../../terminal/terminal.ts'
import { ago, brief } from '../../terminal/words.ts'

interface AuditOptions extends Shared {
  readonly actor?: string
  readonly limit: number
  readonly before?: number
}

export function defineAudit(program: Command): void {
  const command = program
    .command('audit')
    .description('what people have done, newest first')
    .option('--actor <name>', 'only what this one has done')
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 50)
    .option('--before <id>', 'continue where the last page ended', wholeNumber(1, 'before'))
  jsonOption(storeOptions(command)).action(
    act<AuditOptions>((terminal, { actor = null, limit, before = null, ...options }) =>
      withOperations(options, async (perform) => {
        const page = await perform(readAudit, { actor, before, limit: Math.min(limit, 200) })
        if (terminal.json) terminal.data(auditWire(page))
        else if (page.rows.length === 0) terminal.print('nothing')
        else {
          const now = await perform(storeTime, null)
          terminal.table(
            [{ title: 'WHEN' }, { title: 'WHO' }, { title: 'WHAT' }, { title: 'OF' }, { title: 'DATA' }],
            page.rows.map((event) => [
              ago(event.at, now),
              harmless(event.actor ?? ''),
              event.type,
              event.runId ?? event.instanceId ?? '',
              brief(harmless(event.data ?? '')),
            ]),
          )
        }
        if (page.next !== null && !terminal.json) terminal.print(`more: petrel audit --before ${page.next}`)
        return EXIT.ok
      }),
    ),
  )
}
