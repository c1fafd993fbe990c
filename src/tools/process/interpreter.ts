/**
 * An author's code, run by its interpreter in a new process for every call: one task cannot see anything of another.
 */
import { randomBytes } from 'node:crypto'
import type { Json } from '../../net/net.ts'
import { CODE_FIELDS, checkCode, codeOf } from '../code.ts'
import { enveloped, fault, ok } from '../envelope.ts'
import { checkFields, type FieldTable } from '../fields.ts'
import { checkTimeout, timeLimit } from '../timeout.ts'
import type { Envelope, Fields, Problem, Tool, ToolCall } from '../tool.ts'
import { runChild } from './child.ts'
import { childEnvironment } from './environment.ts'
import { checkFolder, folderOf } from './folder.ts'
import { outputOf, type Raised, readReport } from './report.ts'

export interface Interpreter {
  readonly kind: string
  /** The program to start, with these arguments. It reads code and input from its standard input. */
  readonly file: string
  readonly args: readonly string[]
  /** Its name in messages. */
  readonly name: string
  /** The name in messages for code that is not in a file. */
  readonly codeFile: string
  readonly resultBytes: number
  /** Fields beyond those of every interpreter. */
  readonly fields: FieldTable
  check(config: Fields): Problem[]
  /** Additional input beside code and input. */
  given(config: Fields): { readonly [name: string]: Json }
  /** `details`: for the envelope of any error. */
  raised(raised: Raised, details: { readonly [name: string]: Json }): Envelope
}

const DEFAULT_TIMEOUT_MS = 600_000
const OUTPUT_BYTES = 1024 * 1024

export function codeTool(interpreter: Interpreter): Tool {
  const fields: FieldTable = {
    ...CODE_FIELDS,
    ...interpreter.fields,
    env: { types: ['map'] },
    auth: { types: ['map'], hint: 'A map of environment variables: auth: { API_KEY: "{{ keychain.api.key }}" }' },
    cwd: { types: ['text'] },
    timeout_seconds: { types: ['number'] },
    timeout: { types: ['number'] },
  }
  return {
    kind: interpreter.kind,
    check: (config) => [
      ...checkFields(config, fields),
      ...checkCode(config),
      ...checkTimeout(config),
      ...checkFolder(config),
      ...interpreter.check(config),
    ],
    run: (call) => enveloped(() => run(call, interpreter)),
  }
}

async function run(call: ToolCall, interpreter: Interpreter): Promise<Envelope> {
  const { config } = call
  const { kind, name: program, resultBytes } = interpreter
  const cwd = await folderOf(config)
  const { text: code, file } = await codeOf(config, interpreter.codeFile, cwd)
  const nonce = randomBytes(16).toString('hex')
  const timeoutMs = timeLimit(config, call.timeoutMs, DEFAULT_TIMEOUT_MS)
  const { input, context } = call
  const end = await runChild({
    file: interpreter.file,
    args: interpreter.args,
    cwd,
    env: childEnvironment(config['env'], config['auth']),
    stdin: JSON.stringify({ nonce, code, file, input, context, ...interpreter.given(config) }),
    outputBytes: OUTPUT_BYTES,
    resultBytes,
    timeoutMs,
    signal: call.signal,
    ...(call.print !== undefined && { print: call.print }),
  })
  const printed = outputOf(end)
  if (Object.keys(printed).length > 0) call.logger.debug({ key: call.key, ...printed }, `${kind} printed`)
  const report = readReport(end, { kind, program, nonce, timeoutMs, resultBytes })
  if (report.kind === 'result') return ok(report.result)
  if (report.kind === 'fault') return fault(report.fault)
  const { type, stage, traceback } = report.raised
  return interpreter.raised(report.raised, { exception_type: type, stage, traceback, ...printed })
}
