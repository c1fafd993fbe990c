/** `petrel`: reads the arguments and runs one command. Only what that command needs is loaded. */
import { Command, CommanderError } from 'commander'
import { COMMANDS } from './commands.ts'
import { EXIT } from './terminal/failure.ts'
import { packageVersion } from './version.ts'

const HELP = `
Exit codes: 0 ok · 1 the work failed · 2 wrong usage or an invalid definition · 3 not found · 4 denied
Environment: PETREL_STORE (--store), PETREL_NATS_URL (--nats), PORT (--port), NO_COLOR, PETREL_DEBUG=1 (stacks with errors)`

function program(): Command {
  const root = new Command('petrel')
    .description('A durable workflow engine.')
    .version(packageVersion(), '-V, --version')
    // After a command, --version belongs to the command.
    .enablePositionalOptions()
    .helpCommand(false)
    .addHelpText('after', HELP)
    .showHelpAfterError(false)
    .exitOverride()
    .configureOutput({ outputError: () => {} })
  for (const { title, commands } of COMMANDS) {
    root.commandsGroup(title)
    for (const define of commands) define(root)
  }
  for (const command of root.commands) command.exitOverride().configureOutput({ outputError: () => {} })
  return root
}

/** Wrong usage: what is wrong, then the correct form. */
function complain(error: CommanderError, argv: readonly string[]): number {
  if (error.exitCode === 0) return EXIT.ok
  if (error.code === 'commander.help') return EXIT.usage
  const [first = 'wrong usage', ...rest] = error.message.replace(/^error: /, '').split('\n')
  const name = argv[2]?.startsWith('-') === false ? ` ${argv[2]}` : ''
  const hint =
    rest.join(' ').replace(/^\(|\)$/g, '') || `petrel${error.code === 'commander.unknownCommand' ? '' : name} --help`
  const json = argv.includes('--json')
  const body = { error: { code: 'invalid_request', message: first, details: { hint } } }
  process.stderr.write(json ? `${JSON.stringify(body)}\n` : `petrel: ${first}\n  ${hint}\n`)
  return EXIT.usage
}

// `petrel ls | head` closes our output early, which is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  throw error
})

try {
  await program().parseAsync(process.argv)
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  process.exitCode = complain(error, process.argv)
}
