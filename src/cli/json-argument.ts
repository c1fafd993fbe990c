/** JSON given on the command line: as it is, from a file (`@FILE`), or from standard input (`-`). */
import type { Json } from '../net/net.ts'
import { CliError } from './failure.ts'
import { readText } from './file.ts'

export function jsonArgument(given: string, name: string, example: string): Json {
  const file = given === '-' ? '-' : given.startsWith('@') ? given.slice(1) : null
  const text = file === null ? given : readText(file)
  try {
    return JSON.parse(text)
  } catch (error) {
    const what = file === null ? name : file === '-' ? 'standard input' : `the input file ${file}`
    throw new CliError('invalid_request', `${what} is not JSON: ${(error as Error).message}`, example)
  }
}
