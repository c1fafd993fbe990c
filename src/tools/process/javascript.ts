/** JavaScript code, run by node. */
import { fault } from '../envelope.ts'
import type { ErrorKind, Tool } from '../tool.ts'
import { codeTool } from './interpreter.ts'
import { JAVASCRIPT_PROGRAM } from './javascript-program.ts'
import type { Raised } from './report.ts'

export interface JavascriptOptions {
  readonly resultBytes: number
}

export function javascriptTool({ resultBytes }: JavascriptOptions): Tool {
  return codeTool({
    kind: 'javascript',
    file: process.execPath,
    args: ['--input-type=commonjs', '--no-warnings', '-e', JAVASCRIPT_PROGRAM],
    name: 'node',
    codeFile: 'task.js',
    resultBytes,
    fields: {},
    check: () => [],
    given: () => ({}),
    raised: (raised, details) => {
      const { type, message, stage } = raised
      if (stage === 'result') {
        const text = `the result is not JSON: ${message}`
        return fault({ kind: 'transform', code: 'RESULT_NOT_JSON', message: text, details })
      }
      return fault({ kind: kindOf(raised), code: `JS_${type}`, message: `${type}: ${message}`, details })
    },
  })
}

function kindOf({ type, code }: Raised): ErrorKind {
  if (code !== undefined && /^(ECONN|ENOTFOUND|EPIPE|EHOSTUNREACH|UND_ERR_SOCKET)/.test(code)) return 'connection'
  if (type === 'TimeoutError' || code === 'ETIMEDOUT' || code?.endsWith('_TIMEOUT')) return 'timeout'
  if (type === 'SyntaxError') return 'parse'
  return type === 'TypeError' || type === 'RangeError' ? 'schema' : 'unknown'
}
