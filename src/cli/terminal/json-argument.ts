/** JSON given on the command line: directly, from a file (`@FILE`), or from standard input (`-`). */
import { INEXACT_HINT, inexactNumber, inexactText } from '../../kernel/exact-numbers.ts'
import type { Json } from '../../net/net.ts'
import { CliError } from './failure.ts'
import { readText } from './file.ts'

export function jsonArgument(given: string, name: string, example: string): Json {
  const file = given === '-' ? '-' : given.startsWith('@') ? given.slice(1) : null
  const text = file === null ? given : readText(file)
  const what = file === null ? name : file === '-' ? 'standard input' : `the input file ${file}`
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch (error) {
    throw new CliError('invalid_request', `${what} is not JSON: ${(error as Error).message}`, example)
  }
  const inexact = inexactNumber(text)
  if (inexact === null) return value
  const place = [what, ...inexact.path].join('.')
  throw new CliError('invalid_request', `${place}: ${inexactText(inexact)}`, INEXACT_HINT)
}
