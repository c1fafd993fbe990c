/** JavaScript code, in a node process of its own for every call. */
import { randomBytes } from 'node:crypto'
import { CODE_FIELDS, checkCode, codeOf } from '../code.ts'
import { enveloped, fault, ok } from '../envelope.ts'
import { checkFields, type FieldTable } from '../fields.ts'
import { checkTimeout, timeLimit } from '../timeout.ts'
import type { Envelope, ErrorKind, Tool, ToolCall } from '../tool.ts'
import { runChild } from './child.ts'
import { childEnvironment } from './environment.ts'
import { checkFolder, folderOf } from './folder.ts'
import { JAVASCRIPT_PROGRAM } from './javascript-program.ts'
import { outputOf, type Raised, readReport } from './report.ts'

export interface JavascriptOptions {
  readonly resultBytes: number
}

const FIELDS: FieldTable = {
  ...CODE_FIELDS,
  env: { types: ['map'] },
  auth: { types: ['map'], hint: 'A map of environment variables: auth: { API_KEY: "{{ keychain.api.key }}" }' },
  cwd: { types: ['text'] },
  timeout_seconds: { types: ['number'] },
  timeout: { types: ['number'] },
}
const DEFAULT_TIMEOUT_MS = 600_000
const OUTPUT_BYTES = 1024 * 1024

export function javascriptTool(options: JavascriptOptions): Tool {
  return {
    kind: 'javascript',
    check: (config) => [
      ...checkFields(config, FIELDS),
      ...checkCode(config),
      ...checkTimeout(config),
      ...checkFolder(config),
    ],
    run: (call) => enveloped(() => run(call, options)),
  }
}

async function run(call: ToolCall, { resultBytes }: JavascriptOptions): Promise<Envelope> {
  const { config } = call
  const cwd = await folderOf(config)
  const code = await codeOf(config, 'task.js', cwd)
  const nonce = randomBytes(16).toString('hex')
  const timeoutMs = timeLimit(config, call.timeoutMs, DEFAULT_TIMEOUT_MS)
  const end = await runChild({
    file: process.execPath,
    args: ['--input-type=commonjs', '--no-warnings', '-e', JAVASCRIPT_PROGRAM],
    cwd,
    env: childEnvironment(config['env'], config['auth']),
    stdin: JSON.stringify({ nonce, code: code.text, file: code.file, input: call.input, context: call.context }),
    outputBytes: OUTPUT_BYTES,
    resultBytes,
    timeoutMs,
    signal: call.signal,
  })
  const printed = outputOf(end)
  if (Object.keys(printed).length > 0) call.logger.debug({ key: call.key, ...printed }, 'javascript printed')
  const report = readReport(end, { kind: 'javascript', program: 'node', nonce, timeoutMs, resultBytes })
  if (report.kind === 'result') return ok(report.result)
  if (report.kind === 'fault') return fault(report.fault)
  return raisedEnvelope(report.raised, printed)
}

function raisedEnvelope(raised: Raised, printed: { readonly [stream: string]: string }): Envelope {
  const { type, message, traceback, stage } = raised
  const details = { exception_type: type, stage, traceback, ...printed }
  if (stage === 'result') {
    return fault({ kind: 'transform', code: 'RESULT_NOT_JSON', message: `the result is not JSON: ${message}`, details })
  }
  return fault({ kind: kindOf(raised), code: `JS_${type}`, message: `${type}: ${message}`, details })
}

function kindOf({ type, code }: Raised): ErrorKind {
  if (code !== undefined && /^(ECONN|ENOTFOUND|EPIPE|EHOSTUNREACH|UND_ERR_SOCKET)/.test(code)) return 'connection'
  if (type === 'TimeoutError' || code === 'ETIMEDOUT' || code?.endsWith('_TIMEOUT')) return 'timeout'
  if (type === 'SyntaxError') return 'parse'
  return type === 'TypeError' || type === 'RangeError' ? 'schema' : 'unknown'
}
