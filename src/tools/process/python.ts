/** Python code, run by python3. */
import type { Json } from '../../net/net.ts'
import { fault } from '../envelope.ts'
import { isGiven } from '../fields.ts'
import type { Envelope, ErrorKind, Fields, Problem, Tool } from '../tool.ts'
import { codeTool } from './interpreter.ts'
import { PYTHON_PROGRAM } from './python-program.ts'
import type { Raised } from './report.ts'

export interface PythonOptions {
  /** The interpreter. */
  readonly python: string
  readonly resultBytes: number
}

export function pythonTool({ python, resultBytes }: PythonOptions): Tool {
  return codeTool({
    kind: 'python',
    file: python,
    args: ['-u', '-X', 'utf8', '-c', PYTHON_PROGRAM],
    name: python,
    codeFile: 'task.py',
    resultBytes,
    fields: {
      libs: { types: ['map', 'list'], hint: 'libs: { np: numpy, Decimal: { from: decimal, import: Decimal } }' },
      deps: {},
    },
    check: checkDeps,
    given: (config) => ({ libs: config['libs'] ?? {} }),
    raised: raisedEnvelope,
  })
}

function checkDeps(config: Fields): Problem[] {
  if (!isGiven(config, 'deps')) return []
  const hint = 'Install them where the workers run.'
  return [{ path: ['deps'], message: 'deps are not installed by Petrel', hint, warning: true }]
}

function raisedEnvelope(raised: Raised, details: { readonly [name: string]: Json }): Envelope {
  const { type, message, stage } = raised
  const py = { exception_type: type }
  if (raised.exit !== undefined) {
    const text = `the code called sys.exit(${raised.exit}); a task ends with a result`
    return { ...fault({ kind: 'unknown', code: 'EXITED', message: text, details }), py }
  }
  if (stage === 'result') {
    const text = `the result is not JSON: ${message || type}`
    return { ...fault({ kind: 'transform', code: 'RESULT_NOT_JSON', message: text, details }), py }
  }
  const text = message === '' ? type : `${type}: ${message}`
  return { ...fault({ kind: kindOf(raised), code: `PY_${type}`, message: text, details }), py }
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

/** Decided by the exception's type, not by its message. */
function kindOf({ bases }: Raised): ErrorKind {
  return KINDS.find(([exception]) => bases.includes(exception))?.[1] ?? 'unknown'
}
