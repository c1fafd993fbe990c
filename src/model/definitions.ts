/**
 * Deployed definitions: the text, and what it was compiled to. Versions of one name in one tenant are numbered in the order of
 * their deployment; the latest is the greatest number that is not retired. They are changed by `transact` (under a lock on
 * their name). Retention does not remove them, nor the nets they name.
 */
import { PetrelError } from '../kernel/errors.ts'
import type { InstanceRow } from './rows.ts'
import { int, json, type RowOf, table, text, time, uuid } from './table.ts'

/** What starts a definition automatically: the content of `trigger`. */
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
  /** The author's version, or a number: 1, 2, 3 … */
  version: text(),
  /** The number of the version, in the order of deployment. */
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
  /** From then on it cannot be started. */
  retiredAt: time().orNull(),
  /** A JSON list of texts, which its instances have as well; null: none. */
  tags: json().orNull(),
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
  /** Names with a version that is not retired. */
  names(params: { readonly tenant: string | null }): Promise<readonly string[]>
  /** Definitions whose latest version is triggered by this event, by name. */
  listening(params: { readonly tenant: string | null; readonly event: string }): Promise<readonly DefinitionHead[]>
  /** Events that trigger any definition. */
  events(params: { readonly tenant: string | null }): Promise<readonly string[]>
  /** Idle root instances of this name, oldest first. */
  idle(params: DefinitionName & { readonly limit: number }): Promise<readonly InstanceRow[]>
}

export interface Definitions extends DefinitionQueries {
  /**
   * Marks it as used, if it still has this text and is not retired: one statement decides between a start and a deploy
   * that replaces the text. Returns when it was first used; null: it has another text by now.
   */
  use(params: { readonly id: string; readonly sourceHash: string }): Promise<number | null>
}

/** Key of Loaded.definitions. */
export function definitionKey({ tenant, name }: DefinitionName): string {
  return JSON.stringify([tenant, name])
}

/** The latest version that is not retired. `versions`: oldest first. */
export function latestOf<H extends Pick<DefinitionHead, 'retiredAt'>>(versions: readonly H[]): H | null {
  return versions.findLast((v) => v.retiredAt === null) ?? null
}

export interface Meant {
  readonly near: string | null
  /** Existing names or versions. */
  readonly known: readonly string[]
}

export function unknownDefinition(
  name: string,
  version: string | null,
  { near, known }: Meant = { near: null, known: [] },
): PetrelError {
  const what = version === null ? `workflow '${name}'` : `version '${version}' of workflow '${name}'`
  const hint = near === null ? '' : `; did you mean '${near}'?`
  const facts = { kind: 'definition', id: name, version, did_you_mean: near, known } as const
  return new PetrelError('not_found', `there is no ${what}${hint}`, facts)
}
