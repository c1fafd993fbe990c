/** What a deploy would refuse, without deploying. Nothing is written. */
import { sha256 } from '../../kernel/hash.ts'
import { storableText } from '../../kernel/json-limits.ts'
import { MAX_DEFINITION_BYTES } from '../../kernel/limits.ts'
import type { Net } from '../../net/net.ts'
import { DefinitionError, type LocatedMistake } from '../../notations/source/mistakes.ts'
import { operation } from '../operation.ts'
import { planDefinition } from './read.ts'

export interface Checked {
  readonly problems: readonly LocatedMistake[]
  /** Valid, but likely to cause problems. */
  readonly warnings: readonly LocatedMistake[]
  /** null: it has problems. */
  readonly definition: {
    /** null: the text names none, so it cannot be deployed, only run. */
    readonly name: string | null
    readonly version: string | null
    readonly dialect: string
    readonly sourceHash: string
  } | null
  readonly net: { readonly hash: string; readonly net: Net } | null
}

/** `file` is only used in mistakes. Other definitions that it refers to are those in service. */
export const checkDefinition = operation(
  { scope: 'read' },
  async (
    { engine, logger, caller },
    { file, text }: { readonly file: string; readonly text: string },
  ): Promise<Checked> => {
    storableText(text, 'the text of a definition', MAX_DEFINITION_BYTES)
    const { Catalog } = await import('./catalog.ts')
    const deployed = new Catalog({ engine, logger }).deployed(caller.tenant)
    try {
      const read = await planDefinition(file, text, { ...deployed, owner: caller.tenant ?? '' }, engine)
      const { planned, name, version, dialect, warnings = [] } = read
      const row = planned.nets.find(({ hash }) => hash === planned.netHash)
      return {
        problems: [],
        warnings,
        definition: {
          name: read.named === false ? null : name,
          version: version ?? null,
          dialect,
          sourceHash: sha256(text),
        },
        net: row === undefined ? null : { hash: row.hash, net: JSON.parse(row.net) as Net },
      }
    } catch (error) {
      if (!(error instanceof DefinitionError)) throw error
      return { problems: error.problems, warnings: [], definition: null, net: null }
    }
  },
)
