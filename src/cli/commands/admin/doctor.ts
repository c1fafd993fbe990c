import type { Command } from 'commander'
import { checkInvariants } from '../../../operations/server/health.ts'
import { count, span } from '../../../views/words.ts'
import { shownUrl, storeUrl, withOperations } from '../../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../../terminal/act.ts'
import { EXIT } from '../../terminal/failure.ts'

export function defineDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('check the invariants of the database; exits 1 if one does not hold')
  jsonOption(storeOptions(command)).action(
    act<Shared>((terminal, options) =>
      withOperations(options, async (perform) => {
        const began = performance.now()
        const findings = await perform(checkInvariants, null)
        const url = shownUrl(storeUrl(options))
        if (terminal.json) terminal.data({ store: url, healthy: findings.length === 0, findings })
        else if (findings.length === 0) terminal.print(`${url}: nothing found (${span(performance.now() - began)})`)
        else {
          terminal.table(
            [{ title: 'CHECK' }, { title: 'SUBJECT' }, { title: 'FINDING' }],
            findings.map((f) => [f.check, f.subject, f.finding]),
          )
          terminal.print(
            `${count(findings.length, 'finding')}: each is a state no committed transaction should leave behind; please report it with the rows named`,
          )
        }
        return findings.length === 0 ? EXIT.ok : EXIT.failed
      }),
    ),
  )
}
