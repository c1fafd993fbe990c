/** Files named on the command line. */
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { beside } from '../client/beside.ts'
import type { Definition } from '../dialects/definition.ts'
import type { Tools } from '../tools/tools.ts'
import { CliError } from './failure.ts'

export { beside }

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

/** Definitions that it names are looked for beside it. `tools`: what steps of playbooks may be made of. */
export async function readDefinitionFile(file: string, tools?: Tools): Promise<Definition> {
  const text = readText(file)
  const { readDefinition } = await import('../dialects/definition.ts')
  const folder = file === '-' ? '.' : dirname(file)
  const more = tools === undefined ? {} : { tools }
  return readDefinition(file === '-' ? 'stdin' : file, text, { ...beside(folder), ...more })
}
