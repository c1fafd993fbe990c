/** What a notation provides: it reads a text into a net, and projects an instance into its own terms. */
import type { Vocabulary } from '../../expr/index.ts'
import type { Json, Net } from '../../net/net.ts'
import type { Handler } from '../../worker/handlers.ts'
import type { Definition } from '../source/definition.ts'
import type { Others } from '../source/named-definitions.ts'
import type { Source } from '../source/source.ts'
import type { Projection } from './projection.ts'

/** Throws DefinitionError with every mistake. */
export type Read = (source: Source, others: Others) => Definition | Promise<Definition>

/** Runs whose work is a program in the net, executed with tools. */
export interface Programs {
  owns(type: string): boolean
  /** What the author gave such a run, taken from its payload: a stand-in returns it. */
  input(payload: Json): Json
}

/** The work is done by services elsewhere, to which the runs send commands. */
export interface Services {
  /**
   * For a dry run: handlers that build the commands of a net, by type; bodies that code would build are replaced by the
   * values they are built from.
   */
  handlers(net: Net, options: CommandOptions): Promise<readonly (readonly [string, Handler])[]>
}

export interface CommandOptions {
  commandsOf(
    instanceId: string,
  ): Promise<readonly { readonly node: string; readonly role: string; readonly body: string }[]>
  readonly maxBytes: number
}

export interface Notation {
  /** As it is stored with definitions, nets and instances. */
  readonly name: string
  /** The field by which a file declares its notation, and the values of that field. */
  readonly mark: { readonly field: 'kind' | 'type'; readonly words: readonly string[] }
  detect(value: { readonly [key: string]: unknown }): boolean
  /** Loads the compiler when a file of this notation is met. */
  readonly read: () => Promise<Read>
  /** What the names in its expressions mean; left out: they are the names of the net. Loaded when an engine is opened. */
  readonly vocabulary?: () => Promise<Vocabulary>
  readonly project: Projection
  readonly programs?: Programs
  readonly services?: Services
}
