/** What reading one file has come to. */
import type { Item } from '../../model/start.ts'
import type { Path } from '../source/mistakes.ts'
import type { Part, Reader } from '../source/reader.ts'

/** Shared by one file: its nested nets, each built once, and where the parts of a built net came from. */
export interface Build {
  readonly reader: Reader
  /** The reference (hash) of a named nested net; null: noted as a mistake. */
  child(name: string, from: Part): string | null
  /** Of a nested net, by its reference. */
  nodesOf(hash: string): readonly string[]
  /** Remembers the place in the file of a part of the net now being read. */
  readonly places: Map<string, Path>
  readonly items: Map<string, readonly Item[]>
}
