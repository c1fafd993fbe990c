/** The state of reading one file. */

import type { Path } from '../../kernel/reading/mistakes.ts'
import type { Part } from '../../kernel/reading/part.ts'
import type { Item } from '../../model/start.ts'
import type { Reader } from '../source/reader.ts'

/** Shared within one file: its nested nets, each built once, and the places of the parts of a built net. */
export interface Build {
  readonly reader: Reader
  /** The reference (hash) of a named nested net; null: noted as a mistake. */
  child(name: string, from: Part): string | null
  /** The nodes of a nested net, by its hash. */
  nodesOf(hash: string): readonly string[]
  /** Remembers the place in the file of a part of the current net. */
  readonly places: Map<string, Path>
  readonly items: Map<string, readonly Item[]>
}
