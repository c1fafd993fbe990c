/** What a dialect makes of a file, and the table of dialects. A new notation joins by a line in DIALECTS. */

import type { EngineApi } from '../engine/api.ts'
import type { Planned } from '../engine/intake/plans.ts'
import { inThread, unlessLarge } from '../operations/definitions/thread.ts'
import type { Definition } from './source/definition.ts'
import { DefinitionError } from './source/mistakes.ts'
import { Others, type ReadOptions } from './source/others.ts'
import { closest } from './source/reader.ts'
import { locateMistakes, readSource, type Source } from './source/source.ts'

/** As it is stored. */
export interface PlannedDefinition extends Omit<Definition, 'start'> {
  readonly planned: Planned
}

export interface Dialect {
  readonly name: string
  /** How a file says that it is of this dialect, in words for an error message. */
  readonly mark: string
  detect(value: { readonly [key: string]: unknown }): boolean
  /** Loaded when a file of this dialect is met. Throws DefinitionError with every mistake. */
  load(): Promise<(source: Source, others: Others) => Definition | Promise<Definition>>
}

export const DIALECTS: readonly Dialect[] = [
  {
    name: 'net',
    mark: 'kind: Net',
    detect: (value) => value['kind'] === 'Net',
    load: async () => (await import('./net/parse.ts')).parseNet,
  },
  {
    name: 'dag',
    mark: 'kind: Workflow',
    detect: (value) => value['kind'] === 'Workflow',
    load: async () => (await import('./dag/compile/parse.ts')).parseDag,
  },
  {
    name: 'playbook',
    mark: 'kind: Playbook',
    detect: ({ kind, apiVersion }) =>
      kind === 'Playbook' ||
      (kind === undefined && typeof apiVersion === 'string' && apiVersion.startsWith('noetl.io/')),
    load: async () => (await import('./playbook/read/parse.ts')).parsePlaybook,
  },
  {
    name: 'saga',
    mark: 'kind: Saga',
    detect: (value) => value['kind'] === 'Saga',
    load: async () => (await import('./saga/compile/parse.ts')).parseSaga,
  },
  {
    name: 'ojs',
    mark: 'type: chain | group | batch',
    detect: (value) => ['chain', 'group', 'batch'].includes(value['type'] as string),
    load: async () => (await import('./ojs/compile/parse.ts')).parseWorkflow,
  },
]

/** `file` is only named in errors. */
export async function readDefinition(file: string, text: string, options: ReadOptions = {}): Promise<Definition> {
  return unlessLarge(text, options, {
    here: (bounded) => readHere(file, text, bounded),
    inThread: async () => (await inThread(file, text, options, null)).definition,
  })
}

/** Refuses what a start would refuse. */
export async function planDefinition(
  file: string,
  text: string,
  options: ReadOptions,
  engine: Pick<EngineApi, 'planDefinition' | 'startLimits'>,
): Promise<PlannedDefinition> {
  return unlessLarge(text, options, {
    here: async (bounded) => planned(await readHere(file, text, bounded), (start) => engine.planDefinition(start)),
    inThread: async () => (await inThread(file, text, options, engine.startLimits)).planned,
  })
}

export function planned({ start, ...about }: Definition, plan: EngineApi['planDefinition']): PlannedDefinition {
  return { ...about, planned: plan(start) }
}

/** In this thread. */
export async function readHere(file: string, text: string, options: ReadOptions = {}): Promise<Definition> {
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
  const dialect = object ? DIALECTS.find((d) => d.detect(value as { [key: string]: unknown })) : undefined
  if (dialect === undefined) throw new DefinitionError(file, locateMistakes(source, [unknownDialect(value)]))
  return (await dialect.load())(source, others)
}

function unknownDialect(value: unknown): Parameters<typeof locateMistakes>[1][number] {
  const hint = `a definition says what it is: ${DIALECTS.map((d) => `\`${d.mark}\``).join(', ')}`
  const { kind, type } = (value ?? {}) as { readonly kind?: unknown; readonly type?: unknown }
  const [key, word] = kind !== undefined ? ['kind', kind] : ['type', type]
  if (typeof word !== 'string') return { path: [], message: 'this is no definition of any known notation', hint }
  const near = closest(word, key === 'kind' ? ['Net', 'Workflow', 'Playbook', 'Saga'] : ['chain', 'group', 'batch'])
  return { path: [key], message: `unknown ${key} '${word}'`, hint: near === null ? hint : `did you mean '${near}'?` }
}
