/** Commands, each run by its own /bin/sh, one after another until one fails. */
import type { Json } from '../../net/net.ts'
import { aborted, enveloped, type Fault, fault, misfit, ok } from '../envelope.ts'
import { checkFields, checkOneOf, type FieldTable, given } from '../fields.ts'
import { checkTimeout, spokenMs, timeLimit } from '../timeout.ts'
import type { Envelope, Fields, Tool, ToolCall } from '../tool.ts'
import { type ChildEnd, runChild } from './child.ts'
import { childEnvironment } from './environment.ts'
import { checkFolder, folderOf, notStarted } from './folder.ts'
import { COMMAND_VARIABLE, SHELL_PROGRAM } from './shell-program.ts'

const FIELDS: FieldTable = {
  cmds: { types: ['list', 'text'], hint: 'A list of commands; each is one string for /bin/sh.' },
  cmd: { types: ['text'] },
  command: { types: ['text'] },
  env: { types: ['map'] },
  cwd: { types: ['text'] },
  timeout_seconds: { types: ['number'] },
  timeout: { types: ['number'] },
}
const COMMANDS = ['cmds', 'cmd', 'command']
const DEFAULT_TIMEOUT_MS = 600_000
const OUTPUT_BYTES = 1024 * 1024

export const shell: Tool = {
  kind: 'shell',
  check: (config) => [
    ...checkFields(config, FIELDS),
    ...checkOneOf(config, COMMANDS, { hint: 'Give the commands: cmds: ["echo hello"].' }),
    ...checkTimeout(config),
    ...checkFolder(config),
    ...checkCommands(config['cmds']),
  ],
  run: (call) => enveloped(() => run(call)),
}

function checkCommands(cmds: Json | undefined) {
  if (!Array.isArray(cmds)) return []
  if (cmds.length === 0) return [{ path: ['cmds'], message: 'cmds is empty', hint: 'Name at least one command.' }]
  return cmds.flatMap((each: Json, n) =>
    typeof each === 'string' ? [] : [{ path: ['cmds', String(n)], message: 'a command must be text' }],
  )
}

async function run(call: ToolCall): Promise<Envelope> {
  const { config, signal } = call
  const commands = commandsOf(config)
  const cwd = await folderOf(config)
  const env = childEnvironment(config['env'])
  // The field bounds each command, as authors of playbooks expect; the limit of the task bounds all of them together.
  const each = timeLimit(config, null, call.timeoutMs ?? DEFAULT_TIMEOUT_MS)
  const began = performance.now()
  const ran: Ran[] = []
  for (const command of commands) {
    const left = call.timeoutMs === null ? each : Math.min(each, call.timeoutMs - (performance.now() - began))
    const end = await runChild({
      file: '/bin/sh',
      args: ['-c', SHELL_PROGRAM],
      cwd,
      env: { ...env, [COMMAND_VARIABLE]: command },
      stdin: null,
      outputBytes: OUTPUT_BYTES,
      resultBytes: null,
      timeoutMs: Math.max(1, left),
      signal,
      ...(call.print !== undefined && { print: call.print }),
    })
    ran.push({ command, end })
    if (end.why !== 'ended' || end.code !== 0) break
  }
  const result = resultOf(ran)
  const last = ran.at(-1)!
  const problem = problemOf(last, ran.length, Math.min(each, call.timeoutMs ?? each))
  return problem === null ? ok(result) : fault({ ...problem, result })
}

interface Ran {
  readonly command: string
  readonly end: ChildEnd
}

function commandsOf(config: Fields): readonly string[] {
  const value = given(config, ...COMMANDS)
  const commands = Array.isArray(value) ? (value as readonly Json[]) : [value]
  if (commands.length === 0 || !commands.every((each) => typeof each === 'string')) {
    throw misfit('cmds must be a list of texts, at least one')
  }
  return commands as readonly string[]
}

/** Output of all commands together, bounded again; the returncode is that of the last. */
function resultOf(ran: readonly Ran[]): Json {
  const stdout = ran.map(({ end }) => end.stdout).join('')
  const stderr = ran.map(({ end }) => end.stderr).join('')
  return {
    returncode: codeOf(ran.at(-1)!.end),
    stdout: stdout.slice(-OUTPUT_BYTES),
    stderr: stderr.slice(-OUTPUT_BYTES),
    truncated: ran.some(({ end }) => end.truncated) || Math.max(stdout.length, stderr.length) > OUTPUT_BYTES,
    commands: ran.map(({ command, end }) => ({
      command,
      returncode: codeOf(end),
      duration_ms: end.ms,
    })),
    duration_ms: ran.reduce((sum, { end }) => sum + end.ms, 0),
  }
}

/** null: the process did not exit by itself. */
function codeOf({ why, code }: ChildEnd): number | null {
  return why === 'ended' ? code : null
}

function problemOf({ end }: Ran, nth: number, limitMs: number): Fault | null {
  const which = `command ${nth}`
  const details = { command: nth, stderr: end.stderr.slice(-2000) }
  if (end.why === 'not_started') return notStarted('/bin/sh', end.problem)
  if (end.why === 'aborted') return aborted('shell')
  if (end.why === 'timeout') {
    return { kind: 'timeout', code: 'TIMEOUT', message: `${which} did not end within ${spokenMs(limitMs)}`, details }
  }
  if (end.killedBy !== null) {
    return {
      kind: 'unknown',
      code: `KILLED_${end.killedBy}`,
      message: `${which} was ended by ${end.killedBy}`,
      details,
    }
  }
  if (end.code === 0) return null
  const lastLine = end.stderr.trim().split('\n').at(-1)?.slice(0, 300)
  const message = `${which} ended with ${end.code}${lastLine ? `: ${lastLine}` : ''}`
  return { kind: 'unknown', code: `EXIT_${end.code}`, message, details }
}
