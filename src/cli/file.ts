/** Files named on the command line. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Definition } from '../dialects/definition.ts'
import type { ReadOptions } from '../dialects/others.ts'
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

/** Definitions that it names are looked for beside it. */
export async function readDefinitionFile(file: string): Promise<Definition> {
  const text = readText(file)
  const { readDefinition } = await import('../dialects/definition.ts')
  const folder = file === '-' ? '.' : dirname(file)
  return readDefinition(file === '-' ? 'stdin' : file, text, beside(folder))
}

const ENDINGS = ['.workflow.yaml', '.workflow.yml', '.yaml', '.yml', '.json']

/** `NAME.workflow.yaml` or `NAME.yaml` in a folder is the definition NAME. */
export function beside(folder: string): Required<ReadOptions> {
  return {
    resolve: (name) => {
      const found = ENDINGS.map((ending) => join(folder, `${name}${ending}`)).find((path) => existsSync(path))
      return found === undefined ? null : { file: found, text: readText(found) }
    },
    names: () =>
      readdirSync(folder).flatMap((entry) => {
        const ending = ENDINGS.find((e) => entry.endsWith(e))
        return ending === undefined ? [] : [entry.slice(0, -ending.length)]
      }),
  }
}
