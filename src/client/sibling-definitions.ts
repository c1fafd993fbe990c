/** Finds the definitions that a file names in the same folder. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { ReadOptions } from '../notations/source/named-definitions.ts'
import { definitionText } from '../notations/source/utf8.ts'

const ENDINGS = ['.workflow.yaml', '.workflow.yml', '.playbook.yaml', '.playbook.yml', '.yaml', '.yml', '.json']

/** `NAME.workflow.yaml` or `NAME.yaml` in a folder is the definition NAME; so is a file of exactly that name. */
export function siblingDefinitions(folder: string): Required<Pick<ReadOptions, 'resolve' | 'names'>> {
  return {
    resolve: (name) => {
      const found = ['', ...ENDINGS].map((ending) => join(folder, `${name}${ending}`)).find(isFile)
      return found === undefined ? null : { file: found, text: definitionText(found, readFileSync(found)) }
    },
    names: () =>
      readdirSync(folder).flatMap((entry) => {
        const ending = ENDINGS.find((e) => entry.endsWith(e))
        return ending === undefined ? [] : [entry.slice(0, -ending.length)]
      }),
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}
