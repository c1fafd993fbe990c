/** Python code, in a python3 process of its own for every call: nothing of one task is seen by the next. */
import { randomBytes } from 'node:crypto'
import { CODE_FIELDS, checkCode, codeOf } from '../code.ts'
import { enveloped, fault, ok } from '../envelope.ts'
import { checkFields, type FieldTable, isGiven } from '../fields.ts'
import { checkTimeout, timeLimit } from '../timeout.ts'
import type { Envelope, ErrorKind, Fields, Problem, Tool, ToolCall } from '../tool.ts'
import { runChild } from './child.ts'
import { childEnvironment } from './environment.ts'
import { checkFolder, folderOf } from './folder.ts'
import { PYTHON_PROGRAM } from './python-program.ts'
import { outputOf, type Raised, readReport } from './report.ts'

export interface PythonOptions {
  /** The interpreter. */
  readonly python: string
  readonly resultBytes: number
}

const FIELDS: FieldTable = {
  ...CODE_FIELDS,
  libs: { types: ['map', 'list'], hint: 'libs: { np: numpy, Decimal: { from: decimal, import: Decimal } }' },
  deps: {},
  env: { types: ['map'] },
  auth: { types: ['map'], hint: 'A map of environment variables: auth: { API_KEY: "{{ keychain.api.key }}" }' },
  cwd: { types: ['text'] },
  timeout_seconds: { types: ['number'] },
  timeout: { types: ['number'] },
}
const DEFAULT_TIMEOUT_MS = 600_000
const OUTPUT_BYTES = 1024 * 1024

export function pythonTool(options: PythonOptions): Tool {
  return {
    kind: 'python',
    check: (config) => [
      ...checkFields(config, FIELDS),
      ...checkCode(config),
      ...checkTimeout(config),
      ...checkFolder(config),
      ...checkDeps(config),
    ],
    run: (call) => enveloped(() => run(call, options)),
  }
}

function checkDeps(config: Fields): Problem[] {
  if (!isGiven(config, 'deps')) return []
  const hint = 'Install them where the workers run.'
  return [{ path: ['deps'], message: 'deps are not installed by Petrel', hint, warning: true }]
}

async function run(call: ToolCall, { python, resultBytes }: PythonOptions): Promise<Envelope> {
  const { config } = call
  const cwd = await folderOf(config)
  const code = await codeOf(config, 'task.py', cwd)
  const nonce = randomBytes(16).toString('hex')
  const timeoutMs = timeLimit(config, call.timeoutMs, DEFAULT_TIMEOUT_MS)
  const end = await runChild({
    file: python,
    args: ['-u', '-X', 'utf8', '-c', PYTHON_PROGRAM],
    cwd,
    env: childEnvironment(config['env'], config['auth']),
    stdin: JSON.stringify({
      nonce,
      code: code.text,
      file: code.file,
      input: call.input,
      context: call.context,
      libs: config['libs'] ?? {},
    }),
    outputBytes: OUTPUT_BYTES,
    resultBytes,
    timeoutMs,
    signal: call.signal,
  })
  const printed = outputOf(end)
  if (Object.keys(printed).length > 0) call.logger.debug({ key: call.key, ...printed }, 'python printed')
  const report = readReport(end, { kind: 'python', program: python, nonce, timeoutMs, resultBytes })
  if (report.kind === 'result') return ok(report.result)
  if (report.kind === 'fault') return fault(report.fault)
  return raisedEnvelope(report.raised, printed)
}

function raisedEnvelope(raised: Raised, printed: { readonly [stream: string]: string }): Envelope {
  const { type, message, traceback, stage } = raised
  const details = { exception_type: type, stage, traceback, ...printed }
  const py = { exception_type: type }
  if (raised.exit !== undefined) {
    const told = `the code called sys.exit(${raised.exit}); a task ends with a result`
    return { ...fault({ kind: 'unknown', code: 'EXITED', message: told, details }), py }
  }
  if (stage === 'result') {
    const told = `the result is not JSON: ${message || type}`
    return { ...fault({ kind: 'transform', code: 'RESULT_NOT_JSON', message: told, details }), py }
  }
  const told = message === '' ? type : `${type}: ${message}`
  return { ...fault({ kind: kindOf(raised), code: `PY_${type}`, message: told, details }), py }
}

const KINDS: readonly (readonly [exception: string, kind: ErrorKind])[] = [
  ['JSONDecodeError', 'parse'],
  ['SyntaxError', 'parse'],
  ['TimeoutError', 'timeout'],
  ['ConnectionError', 'connection'],
  ['PermissionError', 'storage_access'],
  ['TypeError', 'schema'],
  ['ValueError', 'schema'],
  ['LookupError', 'schema'],
]

/** By what the exception is, not by what its message happens to say. */
function kindOf({ bases }: Raised): ErrorKind {
  return KINDS.find(([exception]) => bases.includes(exception))?.[1] ?? 'unknown'
}
