/** Definitions as /v1 and `--json` show them. */

import { MAX_LISTED_MISTAKES } from '../kernel/limits.ts'
import type { DefinitionHead, DefinitionRow } from '../model/definitions.ts'
import type { Net } from '../net/net.ts'
import {
  anything,
  flag,
  list,
  time as moment,
  named,
  nullable,
  object,
  optional,
  text,
  uuid,
  type Value,
  whole,
  word,
} from './schema.ts'
import { json, time } from './value.ts'

const DEFINITION = {
  id: uuid(),
  name: text(),
  version: text('Set by its author, or 1, 2, 3 …'),
  number: whole('Counts the versions of a name.'),
  latest: flag('It is started when no version is named, and its trigger is active.'),
  dialect: text('Its notation.'),
  tenant: nullable(text()),
  trigger: anything('Its trigger; null: none.'),
  tags: list(text(), 'Its instances have them, too.'),
  net: text('Hash of the net it was compiled to.'),
  source_hash: text('SHA-256 of its text.'),
  created_at: moment(),
  created_by: nullable(text()),
  used_at: nullable(moment('Its first start; since then its text cannot change.')),
  retired_at: nullable(moment()),
}

export const Definition = named('Definition', object(DEFINITION))
const Source = object({ ...DEFINITION, source: text('Its text.') })

export const DefinitionReply = named('DefinitionReply', object({ definition: Source }))

export const DefinitionList = named(
  'DefinitionList',
  object({ definitions: list(Definition), next_before: nullable(uuid('Send it as `before`.')) }),
)

export const Retired = named('Retired', object({ definitions: list(Definition) }))

const Mistake = object({
  file: optional(text('If it is in another file.')),
  line: whole(),
  column: whole(),
  path: text(),
  message: text(),
  hint: nullable(text()),
  rule: optional(text('A stable code of the rule.')),
})

export const DeployReply = named(
  'Deployed',
  object({
    definition: Definition,
    what: word(['created', 'unchanged', 'replaced', 'restored', 'tagged']),
    warnings: list(Mistake, 'Valid, but likely to cause problems.'),
  }),
)

export const CheckReply = named(
  'Checked',
  object({
    ok: flag('It would be accepted.'),
    problems: list(Mistake, 'At most 100.'),
    warnings: list(Mistake, 'Valid, but likely to cause problems.'),
    definition: nullable(
      object({
        name: nullable(text('null: the text has none, so it cannot be deployed.')),
        version: nullable(text('null: it would get the next number.')),
        dialect: text(),
        source_hash: text(),
      }),
    ),
    net: nullable(object({ hash: text(), net: anything({ type: 'object' }) })),
    input_defaults: anything('The input of an instance is merged over them; null: there are none.'),
  }),
)

interface Checked {
  readonly problems: readonly Value<typeof Mistake>[]
  readonly warnings: readonly Value<typeof Mistake>[]
  readonly definition: {
    readonly name: string | null
    readonly version: string | null
    readonly dialect: string
    readonly sourceHash: string
  } | null
  readonly net: { readonly hash: string; readonly net: Net } | null
}

export function checkedWire({ problems, warnings, definition, net }: Checked): Value<typeof CheckReply> {
  return {
    ok: problems.length === 0,
    problems: problems.slice(0, MAX_LISTED_MISTAKES),
    warnings: warnings.slice(0, MAX_LISTED_MISTAKES),
    definition:
      definition === null
        ? null
        : {
            name: definition.name,
            version: definition.version,
            dialect: definition.dialect,
            source_hash: definition.sourceHash,
          },
    net,
    input_defaults: net?.net.input ?? null,
  }
}

export function definitionWire(row: DefinitionHead): Value<typeof Definition> {
  return {
    id: row.id,
    name: row.name,
    version: row.version,
    number: row.number,
    latest: row.latest,
    dialect: row.dialect,
    tenant: row.tenant,
    trigger: json(row.trigger),
    tags: (json(row.tags) ?? []) as readonly string[],
    net: row.netHash,
    source_hash: row.sourceHash,
    created_at: time(row.createdAt),
    created_by: row.createdBy,
    used_at: time(row.usedAt),
    retired_at: time(row.retiredAt),
  }
}

interface Deployed {
  readonly row: DefinitionHead
  readonly what: Value<typeof DeployReply>['what']
  readonly warnings: readonly Value<typeof Mistake>[]
}

/** With its text. */
export function sourceWire(row: DefinitionRow): Value<typeof Source> {
  return { ...definitionWire(row), source: row.source }
}

export function deployedWire({ row, what, warnings }: Deployed): Value<typeof DeployReply> {
  return { definition: definitionWire(row), what, warnings }
}
