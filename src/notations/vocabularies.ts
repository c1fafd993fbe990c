/** What the names in the expressions of each notation mean. A notation without a vocabulary uses the names of the net. */

import type { Vocabulary } from '../expr/index.ts'
import { NOTATIONS } from './notations.ts'

const loaded = await Promise.all(NOTATIONS.map(async ({ name, vocabulary }) => [name, await vocabulary?.()] as const))

export const VOCABULARIES: ReadonlyMap<string, Vocabulary> = new Map(
  loaded.flatMap(([name, vocabulary]) => (vocabulary === undefined ? [] : [[name, vocabulary]])),
)
