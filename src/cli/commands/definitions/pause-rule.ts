/** `pause NAME` and `resume NAME` of a definition or a type. */
import type { Command } from 'commander'
import type { PauseRow } from '../../../model/pauses/pauses.ts'
import { storeTime } from '../../../operations/clock.ts'
import type { Operation } from '../../../operations/operation.ts'
import { span } from '../../../views/words.ts'
import { pauseWire } from '../../../wire/pauses/pause.ts'
import { withOperations } from '../../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../../terminal/act.ts'
import { EXIT } from '../../terminal/failure.ts'
import { harmless } from '../../terminal/terminal.ts'

interface Rule {
  readonly argument: string
  readonly about: string
  readonly paused: string
  readonly pause: Operation<{ readonly name: string; readonly reason: string | null }, PauseRow>
  readonly resume: Operation<{ readonly name: string }, PauseRow>
}

export function definePauseRule(parent: Command, rule: Rule): void {
  const pause = parent
    .command('pause')
    .argument('<name>', rule.argument)
    .description(rule.about)
    .option('--reason <text>', 'shown by why and pauses')
  jsonOption(storeOptions(pause)).action(
    act<Shared & { readonly reason?: string }, readonly [string]>((terminal, { reason = null, ...options }, name) =>
      withOperations(options, async (perform) => {
        const row = await perform(rule.pause, { name, reason })
        if (terminal.json) terminal.data({ pause: pauseWire(row) })
        else terminal.print(`${harmless(name)} is paused: ${rule.paused}`)
        return EXIT.ok
      }),
    ),
  )
  const resume = parent.command('resume').argument('<name>', rule.argument).description('end its pause')
  jsonOption(storeOptions(resume)).action(
    act<Shared, readonly [string]>((terminal, options, name) =>
      withOperations(options, async (perform) => {
        const row = await perform(rule.resume, { name })
        const now = await perform(storeTime, null)
        if (terminal.json) terminal.data({ pause: pauseWire(row) })
        else terminal.print(`${harmless(name)} continues; it was paused for ${span(now - row.pausedAt)}`)
        return EXIT.ok
      }),
    ),
  )
}
