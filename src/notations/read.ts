/** Reads a text into a definition: its mark names the notation, which reads the rest. */

import { closest } from '../kernel/reading/part.ts'
import type { Notation } from './interface/notation.ts'
import { NOTATIONS } from './notations.ts'
import type { Definition } from './source/definition.ts'
import { DefinitionError } from './source/mistakes.ts'
import { Others, type ReadOptions } from './source/named-definitions.ts'
import { locateMistakes, readSource } from './source/source.ts'

/** In this thread. `file` is only named in errors. */
export async function readInPlace(file: string, text: string, options: ReadOptions = {}): Promise<Definition> {
  return read(
    file,
    text,
    Others.of(options, (found, others) => read(found.file, found.text, others)),
  )
}

async function read(file: string, text: string, others: Others): Promise<Definition> {
  const source = readSource(file, text)
  const { value } = source
  const object = typeof value === 'object' && value !== null && !Array.isArray(value)
  const notation = object ? NOTATIONS.find((n) => n.detect(value as { [key: string]: unknown })) : undefined
  if (notation === undefined) throw new DefinitionError(file, locateMistakes(source, [unknownNotation(value)]))
  return (await notation.read())(source, others)
}

function unknownNotation(value: unknown): Parameters<typeof locateMistakes>[1][number] {
  const hint = `a definition declares its notation: ${NOTATIONS.map((n) => `\`${markText(n)}\``).join(', ')}`
  const { kind, type } = (value ?? {}) as { readonly kind?: unknown; readonly type?: unknown }
  const [field, word] = kind !== undefined ? (['kind', kind] as const) : (['type', type] as const)
  if (typeof word !== 'string') return { path: [], message: 'this is not a definition of any known notation', hint }
  const words = NOTATIONS.flatMap(({ mark }) => (mark.field === field ? mark.words : []))
  const near = closest(word, words)
  return {
    path: [field],
    message: `unknown ${field} '${word}'`,
    hint: near === null ? hint : `did you mean '${near}'?`,
  }
}

function markText({ mark }: Notation): string {
  return `${mark.field}: ${mark.words.join(' | ')}`
}
