/** Files named on the command line. */
import { readFileSync } from 'node:fs'
import type { Definition } from '../dialects/definition.ts'
import { CliError } from './failure.ts'

/** `-` is standard input. */
export function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT')
      throw new CliError(
        'not_found',
        `there is no file ${file}`,
        'check the path; it is relative to the current directory',
      )
    if (code === 'EISDIR') throw new CliError('invalid_request', `${file} is a directory`, 'name a file in it')
    throw new CliError('invalid_request', `${file} cannot be read: ${(error as Error).message}`, 'name a readable file')
  }
}

export async function readDefinitionFile(file: string): Promise<Definition> {
  const text = readText(file)
  const { readDefinition } = await import('../dialects/definition.ts')
  return readDefinition(file === '-' ? 'stdin' : file, text)
}
