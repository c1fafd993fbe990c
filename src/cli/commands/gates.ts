/** approve, reject: answers to a gate. */
import type { Command } from 'commander'
import type { Json } from '../../net/net.ts'
import { isId } from '../../server/query.ts'
import { instanceWire } from '../../server/wire.ts'
import { act, jsonOption, type Shared, storeOptions } from '../act.ts'
import { withEngine } from '../connect.ts'
import { CliError, EXIT } from '../failure.ts'
import { actor, noSuch } from '../lookup.ts'
import { paintState } from '../words.ts'

interface AnswerOptions extends Shared {
  readonly reason?: string
  readonly answer?: string
  readonly as?: string
}

export function defineApprove(program: Command): void {
  defineAnswer(program, 'approve', 'let an instance go on past a gate', true)
}

export function defineReject(program: Command): void {
  defineAnswer(program, 'reject', 'refuse a gate', false)
}

function defineAnswer(program: Command, name: string, description: string, approved: boolean): void {
  const command = program
    .command(name)
    .argument('<gate>', 'gate id, as `petrel show` prints it')
    .description(description)
    .option('--reason <text>', 'kept with the answer')
    .option('--answer <json>', 'value the gate gives as its result')
    .option('--as <name>', 'who answers; default: the user of this shell')
  jsonOption(storeOptions(command)).action(
    act<AnswerOptions, readonly [string]>((terminal, options, gateId) =>
      withEngine(options, async (engine) => {
        if (!isId(gateId)) throw noSuch('gate', gateId)
        const row = await engine.answerGate({
          gateId,
          approved,
          actor: options.as ?? actor(),
          ...(options.answer === undefined ? {} : { answer: parseAnswer(options.answer) }),
          ...(options.reason === undefined ? {} : { reason: options.reason }),
        })
        if (terminal.json) terminal.data({ instance: instanceWire(row) })
        else
          terminal.print(
            `${approved ? 'approved' : 'rejected'}; ${row.name} ${row.id} is ${paintState(terminal, row.state)}`,
          )
        return EXIT.ok
      }),
    ),
  )
}

function parseAnswer(text: string): Json {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new CliError(
      'invalid_request',
      `--answer is not JSON: ${(error as Error).message}`,
      `for example --answer '{"amount": 10}'`,
    )
  }
}
