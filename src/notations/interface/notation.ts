/** What a notation provides: a way in, from a text to a net, and a way out, from an instance to its own words. */
import type { Definition } from '../source/definition.ts'
import type { Others } from '../source/others.ts'
import type { Source } from '../source/source.ts'

/** Throws DefinitionError with every mistake. */
export type Read = (source: Source, others: Others) => Definition | Promise<Definition>

export interface Notation {
  /** As it is stored with definitions, nets and instances. */
  readonly name: string
  /** The field by which a file states its notation, and the words that stand there. */
  readonly mark: { readonly field: 'kind' | 'type'; readonly words: readonly string[] }
  detect(value: { readonly [key: string]: unknown }): boolean
  /** Loads the compiler when a file of this notation is met. */
  readonly read: () => Promise<Read>
}
