/** The mistakes in a playbook as reported: `line:column path: message (hint)`. */

import type { Definition } from '../../src/notations/source/definition.ts'
import { DefinitionError, type LocatedMistake } from '../../src/notations/source/mistakes.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import type { Tools } from '../../src/tools/tools.ts'

export const HEAD = 'apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: flow }\n'

/** The steps begin in line 5. */
export function flow(steps: string, more = ''): string {
  return `${HEAD}workflow:\n${steps.replace(/^(?=.)/gm, '  ')}\n${more}`
}

export function read(text: string): Promise<Definition> {
  return readDefinition('flow.yaml', text)
}

export async function warnings(text: string): Promise<readonly string[]> {
  return ((await read(text)).warnings ?? []).map(line)
}

/** Each has a suggestion. */
export async function mistakes(
  text: string,
  how: { readonly strict?: boolean; readonly tools?: Tools } = {},
): Promise<readonly string[]> {
  try {
    await readDefinition('flow.yaml', text, how)
    return []
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    const silent = error.problems.filter(({ hint }) => hint === null)
    if (silent.length > 0) throw new Error(`without a hint: ${silent.map(({ message }) => message).join(', ')}`)
    return error.problems.map(line)
  }
}

function line({ line, column, path, message, hint }: LocatedMistake): string {
  return `${line}:${column} ${path}: ${message} (${hint})`
}
