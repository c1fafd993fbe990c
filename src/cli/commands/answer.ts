/** approve, reject: one person's vote on a gate. */

import type { Command } from 'commander'
import { operator } from '../../operations/caller.ts'
import { voteOnGate } from '../../operations/gates/gates.ts'
import { count } from '../../views/words.ts'
import { gateViewWire } from '../../wire/gate.ts'
import { instanceWire } from '../../wire/instance.ts'
import { actor } from '../lookup.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../terminal/act.ts'
import { EXIT } from '../terminal/failure.ts'
import { jsonArgument } from '../terminal/json-argument.ts'
import { paintState } from '../terminal/words.ts'

interface AnswerOptions extends Shared {
  readonly reason?: string
  readonly answer?: string
  readonly as?: string
  readonly role?: readonly string[]
}

export function defineApprove(program: Command): void {
  defineAnswer(program, 'approve', 'vote for a gate, so that its instance continues', true)
}

export function defineReject(program: Command): void {
  defineAnswer(program, 'reject', 'vote against a gate', false)
}

function defineAnswer(program: Command, name: string, description: string, approved: boolean): void {
  const command = program
    .command(name)
    .argument('<gate>', 'gate id, as `petrel gates` prints it')
    .description(description)
    .option('--reason <text>', 'stored with the vote')
    .option('--answer <json>', 'value the gate gives as its result: JSON, @FILE, or - for standard input')
    .option('--as <name>', 'the voter; default: the user of this shell')
    .option('--role <roles...>', 'roles of the voter')
  jsonOption(storeOptions(command)).action(
    act<AnswerOptions, readonly [string]>((terminal, options, gateId) =>
      withOperations(
        options,
        async (perform) => {
          const answer = options.answer
          const { view, instance: row } = await perform(voteOnGate, {
            id: gateId,
            approved,
            ...(answer === undefined
              ? {}
              : { answer: jsonArgument(answer, '--answer', `for example --answer '{"amount": 10}'`) }),
            ...(options.reason === undefined ? {} : { reason: options.reason }),
          })
          if (terminal.json) terminal.data({ gate: gateViewWire(view), instance: instanceWire(row) })
          else if (view.gate.state === 'open') {
            const { quorum, approvals, rejections } = view.standing
            const against = rejections === 0 ? '' : `, ${rejections} against`
            const word = approved ? 'approval' : 'rejection'
            terminal.print(`your ${word} counts; ${approvals} of ${count(quorum, 'approval')}${against}`)
          } else {
            const state = paintState(terminal, row.state)
            terminal.print(`${view.gate.state}; ${row.name} ${row.id} is ${state}`)
          }
          return EXIT.ok
        },
        { caller: { ...operator(options.as ?? actor()), roles: options.role ?? [] } },
      ),
    ),
  )
}
