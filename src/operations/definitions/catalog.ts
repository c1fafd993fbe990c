/**
 * The definitions of a store: deployed, versioned, started by name, retired. Deploying and retiring lock the name, so
 * versions, the schedule of the trigger and the event about it are written together.
 */

import type { DefinitionChange, EngineApi } from '../../engine/api.ts'
import { PetrelError } from '../../kernel/errors.ts'
import { sha256 } from '../../kernel/hash.ts'
import { newId } from '../../kernel/ids.ts'
import { storableText } from '../../kernel/json-limits.ts'
import { MAX_DEFINITION_BYTES } from '../../kernel/limits.ts'
import type { Logger } from '../../kernel/logger.ts'
import { closest } from '../../kernel/reading/part.ts'
import {
  type DefinitionHead,
  type DefinitionName,
  type DefinitionQuery,
  type DefinitionRow,
  latestOf,
  unknownDefinition,
} from '../../model/definitions.ts'
import { type NewEvent, storeEvent } from '../../model/events/events.ts'
import type { NetRow } from '../../model/rows.ts'
import { checkedTags } from '../../model/search/terms.ts'
import type { DefinitionStarted, StartDefinition } from '../../model/start.ts'
import { DefinitionError, type LocatedMistake } from '../../notations/source/mistakes.ts'
import type { ReadOptions, Resolve } from '../../notations/source/named-definitions.ts'
import { planDefinition } from './read.ts'
import { nextStep, type Step } from './versions.ts'

export interface Deployed {
  readonly row: DefinitionRow
  /** versions.ts explains each. */
  readonly what: 'created' | 'unchanged' | 'replaced' | 'restored' | 'tagged'
  readonly warnings: readonly LocatedMistake[]
}

type Given = DefinitionName & { readonly version: string | null; readonly actor: string | null }

const LONGEST_NAME = 200
const MOST_VERSIONS = 10_000
const MOST_KNOWN = 100

export class Catalog {
  readonly #engine: EngineApi
  readonly #logger: Logger | null

  constructor(p: { readonly engine: EngineApi; readonly logger: Logger | null }) {
    this.#engine = p.engine
    this.#logger = p.logger
  }

  /** Refuses everything that a start would refuse. Repeating it changes nothing. */
  async deploy(p: {
    /** Only used in errors. */
    readonly file: string
    readonly text: string
    /** Besides those in the text. Left out: a version that is deployed again keeps its tags. */
    readonly tags?: readonly string[]
    readonly tenant: string | null
    readonly actor: string | null
  }): Promise<Deployed> {
    const { tenant, actor } = p
    const given = p.tags === undefined ? null : checkedTags(p.tags, 'tags')
    storableText(p.text, 'the text of a definition', MAX_DEFINITION_BYTES)
    const definition = await planDefinition(
      p.file,
      p.text,
      { ...this.deployed(tenant), owner: tenant ?? '' },
      this.#engine,
    )
    const { name, dialect, trigger, planned } = definition
    if (definition.named === false) throw new DefinitionError(p.file, [nameless()])
    checkWords(name, definition.version)
    const { plan, netHash, nets } = planned
    const sourceHash = sha256(p.text)
    const words = trigger === undefined ? null : JSON.stringify(trigger)
    const tags = checkedTags([...definition.tags, ...(given ?? [])], 'tags')
    const draft: Draft = {
      id: newId(),
      tenant,
      name,
      dialect,
      netHash,
      sourceHash,
      trigger: words,
      tags: tags.length === 0 ? null : JSON.stringify(tags),
      source: p.text,
      plan,
    }
    const { what, row, own } = await this.#engine.deployments.change({
      of: { tenant, name },
      decide: (versions, now) => {
        const step = nextStep(versions, { name, version: definition.version ?? null, sourceHash, netHash })
        return taken(step, versions, { ...draft, createdAt: now, createdBy: actor }, nets, given !== null)
      },
    })
    if (what !== 'unchanged') {
      this.#logger?.info({ name, version: own.version }, `workflow '${name}' version ${own.version}: ${what}`)
    }
    const stored = row ?? ((await this.#engine.queries.definitions.byId(own.id)) as DefinitionRow)
    const frozen = own.netHash === netHash ? [] : [frozenParts(own)]
    return { row: stored, what, warnings: [...(definition.warnings ?? []), ...frozen] }
  }

  /** Definitions in service, for a definition that refers to them. */
  deployed(tenant: string | null): Required<Pick<ReadOptions, 'resolve' | 'names'>> {
    return { resolve: this.#texts(tenant), names: () => this.#engine.queries.definitions.names({ tenant }) }
  }

  /** The latest of each name, or all versions of one; newest first. */
  list(query: DefinitionQuery): Promise<readonly DefinitionHead[]> {
    return this.#engine.queries.definitions.list(query)
  }

  /** `version` null: the latest, or the newest if all are retired. */
  get(p: DefinitionName & { readonly version: string | null }): Promise<DefinitionRow | null> {
    return this.#engine.queries.definitions.get(p)
  }

  /**
   * These can no longer be started, and their triggers are off; running instances continue. `version` null: all of
   * them.
   */
  async retire(p: Given): Promise<readonly DefinitionHead[]> {
    const { tenant, name, version, actor } = p
    const ids = await this.#engine.deployments.change({
      of: { tenant, name },
      decide: (versions, now) => {
        const meant = versions.filter((v) => version === null || v.version === version)
        const retire = meant.filter((v) => v.retiredAt === null)
        const gone = new Set(retire.map((v) => v.id))
        const after = versions.map((v) => (gone.has(v.id) ? { ...v, retiredAt: now } : v))
        const events = retire.map((v) => storeEvent('workflow.retired', named(v), { actor, tenant: v.tenant, at: now }))
        return { result: meant.map((v) => v.id), versions: after, retire: [...gone], events }
      },
    })
    if (ids.length === 0) throw await this.unknown(p)
    const asked = new Set(ids)
    const all = await this.list({ tenant, name, dialect: null, limit: MOST_VERSIONS, before: null })
    return all.filter((row) => asked.has(row.id))
  }

  async start(p: StartDefinition): Promise<DefinitionStarted> {
    try {
      return await this.#engine.startDefinition(p)
    } catch (error) {
      const unknown = error instanceof PetrelError && error.details.kind === 'definition'
      throw unknown ? await this.unknown(p) : error
    }
  }

  /** Suggests existing names: versions if only the version is unknown, else names. */
  async unknown({ tenant, name, version }: DefinitionName & { readonly version: string | null }): Promise<PetrelError> {
    const { definitions } = this.#engine.queries
    const query = { tenant, name, dialect: null, limit: MOST_KNOWN, before: null }
    const versions = version === null ? [] : (await this.list(query)).map((row) => row.version)
    const words = versions.length > 0 ? versions : await definitions.names({ tenant })
    const near = closest(versions.length > 0 ? (version as string) : name, words)
    return unknownDefinition(name, version, { near, known: words.slice(0, MOST_KNOWN) })
  }

  /**
   * Resolves the definitions that a definition refers to: the latest version at the time of the deploy becomes part of
   * it.
   */
  #texts(tenant: string | null): Resolve {
    return async (name) => {
      const row = await this.#engine.queries.definitions.get({ tenant, name, version: null })
      if (row === null || row.retiredAt !== null) return null
      return { file: `${name} (version ${row.version})`, text: row.source }
    }
  }
}

/** All columns except those that depend on its position among the versions. */
type Draft = Omit<DefinitionRow, 'version' | 'number' | 'latest' | 'usedAt' | 'retiredAt' | 'createdAt' | 'createdBy'>

interface Written {
  readonly what: Deployed['what']
  /** null: as stored. */
  readonly row: DefinitionRow | null
  readonly own: DefinitionHead
}

function taken(
  step: Step,
  versions: readonly DefinitionHead[],
  draft: Draft & Pick<DefinitionRow, 'createdAt' | 'createdBy'>,
  nets: readonly NetRow[],
  retag: boolean,
): DefinitionChange<Written> {
  const { what } = step
  const events = (own: DefinitionHead, what: Exclude<Written['what'], 'unchanged'>): readonly NewEvent[] => {
    const about = { actor: draft.createdBy, tenant: own.tenant, at: draft.createdAt }
    return [storeEvent('workflow.deployed', { ...named(own), dialect: own.dialect, what }, about)]
  }
  const { tags } = draft
  if (what === 'unchanged' && retag && step.head.tags !== tags) {
    const own = { ...step.head, tags }
    const result = { what: 'tagged' as const, row: null, own }
    return { result, nets, tag: [{ id: own.id, tags }], events: events(own, 'tagged') }
  }
  // Its nets are written in any case: if one is missing, deploying again repairs it.
  if (what === 'unchanged') return { result: { what, row: null, own: step.head }, nets }
  const place = what === 'created' ? { id: draft.id, version: step.version, number: step.number } : step.head
  const { id, version, number } = place
  const row: DefinitionRow = { ...draft, id, version, number, usedAt: null, retiredAt: null, latest: false }
  const own = what === 'restored' ? { ...step.head, retiredAt: null, ...(retag ? { tags } : {}) } : row
  const after = versions.some((v) => v.id === id) ? versions.map((v) => (v.id === id ? own : v)) : [...versions, own]
  if (what === 'restored') {
    const tag = retag ? [{ id, tags }] : []
    return { result: { what, row: null, own }, versions: after, restore: [id], tag, events: events(own, what) }
  }
  const written = { ...row, latest: latestOf(after)?.id === id }
  return { result: { what, row: written, own }, versions: after, put: [row], nets, events: events(own, what) }
}

function checkWords(name: string, version: string | undefined): void {
  for (const [what, word] of [
    ['name', name],
    ['version', version ?? '1'],
  ] as const) {
    storableText(word, `the ${what} of a definition`, MAX_DEFINITION_BYTES)
    if (word !== '' && word.length <= LONGEST_NAME) continue
    throw new PetrelError('invalid_request', `the ${what} of a definition has 1 to ${LONGEST_NAME} characters`, {
      field: what,
    })
  }
}

function nameless(): LocatedMistake {
  const message = 'what is deployed is started by its name, and this has none'
  return { line: 1, column: 1, path: '', message, hint: 'name: order' }
}

function frozenParts({ name, version }: DefinitionHead): LocatedMistake {
  return {
    line: 1,
    column: 1,
    path: '',
    message: `version '${version}' of '${name}' stays as it was compiled when it was deployed; today this text compiles to another net`,
    hint: 'a definition it refers to has changed: give it a new version to use that',
  }
}

function named({ id, name, version }: DefinitionHead) {
  return { id, name, version }
}
