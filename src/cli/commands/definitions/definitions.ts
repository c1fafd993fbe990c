/** definitions ls | show | retire | pause | resume: the deployed definitions. */
import type { Command } from 'commander'
import type { DefinitionHead, DefinitionRow } from '../../../model/definitions.ts'
import { storeTime } from '../../../operations/clock.ts'
import {
  listDefinitions,
  listVersions,
  retireDefinition,
  showDefinition,
} from '../../../operations/definitions/definitions.ts'
import type { Perform } from '../../../operations/operation.ts'
import { pauseDefinition, resumeDefinition } from '../../../operations/pauses/pauses.ts'
import { definitionWire, sourceWire } from '../../../wire/definition.ts'
import { json } from '../../../wire/value.ts'
import { withOperations } from '../../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../../terminal/act.ts'
import { EXIT } from '../../terminal/failure.ts'
import { harmless, type Terminal } from '../../terminal/terminal.ts'
import { ago, brief, clock } from '../../terminal/words.ts'
import { definePauseRule } from './pause-rule.ts'

interface ListOptions extends Shared {
  readonly dialect?: string
  readonly limit: number
}

interface OneOptions extends Shared {
  readonly version?: string
  readonly source?: boolean
}

const MOST_VERSIONS = 100

export function defineDefinitions(program: Command): void {
  const definitions = program
    .command('definitions')
    .description('deployed definitions: ls, show, retire, pause, resume')
  const ls = definitions
    .command('ls', { isDefault: true })
    .description('list definitions, the latest version of each')
    .option('--dialect <dialect>', 'only of this notation')
    .option('--limit <n>', 'how many', wholeNumber(1, 'limit'), 50)
  jsonOption(storeOptions(ls)).action(
    act<ListOptions>((terminal, options) =>
      withOperations(options, async (perform) => {
        const { dialect = null, limit } = options
        const { rows } = await perform(listDefinitions, { dialect, limit, before: null })
        if (terminal.json) terminal.data({ definitions: rows.map(definitionWire) })
        else if (rows.length === 0) terminal.print('no definitions in service; `petrel deploy FILE` puts one in')
        else list(terminal, rows, await perform(storeTime, null))
        return EXIT.ok
      }),
    ),
  )
  defineShow(definitions)
  defineRetire(definitions)
  definePauseRule(definitions, {
    argument: 'of a definition',
    about: 'new instances wait in the queue; running ones continue',
    paused: 'its new instances wait',
    pause: pauseDefinition,
    resume: resumeDefinition,
  })
}

function defineShow(definitions: Command): void {
  const show = definitions
    .command('show')
    .argument('<name>', 'of a definition')
    .description('one definition with its versions')
    .option('--version <version>', 'which (default: the latest)')
    .option('--source', 'print only its text')
  jsonOption(storeOptions(show)).action(
    act<OneOptions, readonly [string]>((terminal, options, name) =>
      withOperations(options, async (perform) => {
        const row = await perform(showDefinition, { name, version: options.version ?? null })
        if (terminal.json) terminal.data({ definition: sourceWire(row) })
        else if (options.source === true) terminal.print(row.source.replace(/\n$/, ''))
        else await print(terminal, perform, row)
        return EXIT.ok
      }),
    ),
  )
}

function defineRetire(definitions: Command): void {
  const retire = definitions
    .command('retire')
    .argument('<name>', 'of a definition')
    .description('no longer start it; running instances continue')
    .option('--version <version>', 'only this one (default: all)')
  jsonOption(storeOptions(retire)).action(
    act<OneOptions, readonly [string]>((terminal, options, name) =>
      withOperations(options, async (perform) => {
        const rows = await perform(retireDefinition, { name, version: options.version ?? null })
        if (terminal.json) terminal.data({ definitions: rows.map(definitionWire) })
        else terminal.print(`${name} is retired: ${versions(rows)}; deploying it again puts it back`)
        return EXIT.ok
      }),
    ),
  )
}

function versions(rows: readonly DefinitionHead[]): string {
  return `${rows.length === 1 ? 'version' : 'versions'} ${rows.map((row) => row.version).join(', ')}`
}

function list(terminal: Terminal, rows: readonly DefinitionHead[], now: number): void {
  terminal.table(
    [
      { title: 'NAME' },
      { title: 'VERSION' },
      { title: 'DIALECT' },
      { title: 'STARTS' },
      { title: 'DEPLOYED' },
      { title: 'BY' },
    ],
    rows.map((row) => [
      harmless(row.name),
      harmless(row.version),
      row.dialect,
      row.retiredAt === null ? brief(triggerText(row.trigger) || 'by hand') : terminal.paint('dim', 'retired'),
      ago(row.createdAt, now),
      harmless(row.createdBy ?? ''),
    ]),
  )
}

async function print(terminal: Terminal, perform: Perform, row: DefinitionRow): Promise<void> {
  terminal.print(
    `${terminal.paint('bold', harmless(row.name))} ${harmless(row.version)}  ${terminal.paint('dim', row.dialect)}`,
  )
  terminal.print(
    `starts    ${row.retiredAt === null ? harmless(triggerText(row.trigger) || 'by hand') : 'never: it is retired'}`,
  )
  const tags = (json(row.tags) ?? []) as readonly string[]
  if (tags.length > 0) terminal.print(`tags      ${harmless(tags.join(', '))}`)
  terminal.print(`deployed  ${clock(row.createdAt)}${row.createdBy === null ? '' : ` by ${harmless(row.createdBy)}`}`)
  terminal.print(
    `used      ${row.usedAt === null ? 'not yet: its text may still be replaced' : `since ${clock(row.usedAt)}: its text stays`}`,
  )
  const { rows: all } = await perform(listVersions, { name: row.name, limit: MOST_VERSIONS, before: null })
  if (all.length < 2) return
  terminal.print()
  terminal.table(
    [{ title: 'VERSION' }, { title: 'DEPLOYED' }, { title: 'USED' }, { title: '' }],
    all.map((one) => [
      harmless(one.version),
      clock(one.createdAt),
      one.usedAt === null ? 'no' : 'yes',
      one.retiredAt !== null ? 'retired' : one.latest ? 'latest' : '',
    ]),
  )
}

/** '' if it is only started explicitly. */
export function triggerText(trigger: string | null): string {
  const {
    event = null,
    condition = null,
    schedule = null,
    timezone = 'UTC',
  } = (json(trigger) ?? {}) as {
    readonly [key in 'event' | 'condition' | 'schedule' | 'timezone']?: string | null
  }
  const zone = timezone === null || timezone === 'UTC' ? '' : ` (${timezone})`
  return [
    ...(event === null ? [] : [`on ${event}${condition === null ? '' : ` if ${condition}`}`]),
    ...(schedule === null ? [] : [`by the clock, ${schedule}${zone}`]),
  ].join(', ')
}
