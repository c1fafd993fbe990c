/** Files named on the command line. */
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { siblingDefinitions } from '../../client/sibling-definitions.ts'
import type { Definition } from '../../notations/source/definition.ts'
import { DefinitionError, type LocatedMistake } from '../../notations/source/mistakes.ts'
import type { ReadOptions } from '../../notations/source/named-definitions.ts'
import { definitionText } from '../../notations/source/utf8.ts'
import type { Tools } from '../../tools/tools.ts'
import { CliError } from './failure.ts'

export { siblingDefinitions }

/** `-` is standard input. */
export function readText(file: string): string {
  try {
    return readDefinitionText(file)
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    const [{ line, column, hint }] = error.problems as [LocatedMistake]
    throw new CliError('invalid_request', `${file} is not UTF-8, see line ${line}, column ${column}`, hint ?? '')
  }
}

/** For a definition: problems with the file are reported like mistakes in it. */
export function readDefinitionText(file: string): string {
  return definitionText(file === '-' ? 'stdin' : file, readBytes(file))
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file)
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

export interface FileOptions {
  /** The tools for steps of playbooks. */
  readonly tools?: Tools
  /** Finds definitions that it names if they are not in the same folder. */
  readonly deployed?: Required<Pick<ReadOptions, 'resolve' | 'names'>>
}

/** Definitions that it names are searched for in the same folder. */
export async function readDefinitionFile(file: string, { tools, deployed }: FileOptions = {}): Promise<Definition> {
  const text = readDefinitionText(file)
  const { readDefinition } = await import('../../operations/definitions/read.ts')
  const near = siblingDefinitions(file === '-' ? '.' : dirname(file))
  return readDefinition(file === '-' ? 'stdin' : file, text, {
    resolve: async (name) => (await near.resolve(name)) ?? (await deployed?.resolve(name)) ?? null,
    names: async () => [...(await near.names()), ...((await deployed?.names()) ?? [])],
    ...(tools === undefined ? {} : { tools }),
  })
}
