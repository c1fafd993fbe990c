/**
 * Definitions as they were deployed: the text, and what it was compiled to then. Versions of one name in one tenant are
 * numbered in the order they came; the latest is the greatest number that is not retired. They are changed by
 * `transact` (under a lock on their name), and stay: retention leaves them, and the nets they name, alone.
 */
import type { InstanceRow } from './rows.ts'
import { int, json, type RowOf, table, text, time, uuid } from './table.ts'

/** What starts a definition by itself, as `trigger` has it. */
export interface TriggerWords {
  readonly event: string | null
  /** An expression over the event. */
  readonly condition: string | null
  /** Cron. */
  readonly schedule: string | null
  readonly timezone: string
}

export const DEFINITION = table('workflow_definition', {
  id: uuid(),
  tenant: text().orNull(),
  name: text(),
  /** As its author counts, or else ours: 1, 2, 3 … */
  version: text(),
  /** Counts the versions of a name, whatever they are called. */
  number: int(),
  dialect: text(),
  netHash: text(),
  /** SHA-256 of the text, in hex. */
  sourceHash: text(),
  /** TriggerWords. */
  trigger: json().orNull().named('"trigger"'),
  createdAt: time(),
  createdBy: text().orNull(),
  /** The first start. From then on its text cannot change. */
  usedAt: time().orNull(),
  /** From then on nothing starts it. */
  retiredAt: time().orNull(),
  source: text(),
  /** What an instance needs except its input and its identity; nets are named by their hashes. */
  plan: json(),
})

export interface DefinitionRow extends RowOf<typeof DEFINITION> {
  /** The version that starts when none is named, and whose trigger is active. */
  readonly latest: boolean
}

/** A definition without its text and plan, which may be long. */
export type DefinitionHead = Omit<DefinitionRow, 'source' | 'plan'>

export interface DefinitionQuery {
  readonly tenant: string | null
  /** null: the latest of each name; otherwise all versions of this one. */
  readonly name: string | null
  readonly dialect: string | null
  readonly limit: number
  /** Newest first, strictly older than this id. */
  readonly before: string | null
}

export interface DefinitionName {
  readonly tenant: string | null
  readonly name: string
}

/** A tenant sees its own; null is those without a tenant. */
export interface DefinitionQueries {
  /** Without their texts, which may be long. */
  list(query: DefinitionQuery): Promise<readonly DefinitionHead[]>
  /** `version` null: the latest, or the newest if all are retired. */
  find(params: DefinitionName & { readonly version: string | null }): Promise<DefinitionHead | null>
  get(params: DefinitionName & { readonly version: string | null }): Promise<DefinitionRow | null>
  byId(id: string): Promise<DefinitionRow | null>
  /** Names that have a version which is not retired. */
  names(params: { readonly tenant: string | null }): Promise<readonly string[]>
  /** Whose trigger names this event: the latest of their names only. By name. */
  listening(params: { readonly tenant: string | null; readonly event: string }): Promise<readonly DefinitionHead[]>
  /** Events that anybody listens to. */
  events(params: { readonly tenant: string | null }): Promise<readonly string[]>
  /** Root instances of this name that nobody has started yet, oldest first. */
  idle(params: DefinitionName & { readonly limit: number }): Promise<readonly InstanceRow[]>
}

export interface Definitions extends DefinitionQueries {
  /**
   * Marks it used, if it still has this text and is not retired: one statement decides between a start and a deploy
   * that replaces the text. Gives when it was first used; null: it is another by now.
   */
  use(params: { readonly id: string; readonly sourceHash: string }): Promise<number | null>
}

/** Key of Loaded.definitions. */
export function definitionKey({ tenant, name }: DefinitionName): string {
  return JSON.stringify([tenant, name])
}

/** The greatest number in service. `versions`: oldest first. */
export function latestOf<H extends Pick<DefinitionHead, 'retiredAt'>>(versions: readonly H[]): H | null {
  return versions.findLast((v) => v.retiredAt === null) ?? null
}
