/** keys add | ls | revoke: who may use the server. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { KeyRow } from '../../../model/rows.ts'
import { SCOPES, type Scope } from '../../../operations/caller.ts'
import { storeTime } from '../../../operations/clock.ts'
import { addKey, listKeys, revokeKey } from '../../../operations/keys/keys.ts'
import type { Perform } from '../../../operations/operation.ts'
import { hinting } from '../../inbox.ts'
import { withOperations } from '../../process/connect.ts'
import { act, jsonOption, oneLine, type Shared, storeOptions } from '../../terminal/act.ts'
import { EXIT } from '../../terminal/failure.ts'
import { spanMs } from '../../terminal/span.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { ago, clock } from '../../terminal/words.ts'

interface AddOptions extends Shared {
  readonly subject: string
  readonly scope: readonly Scope[]
  readonly role?: readonly string[]
  readonly tenant?: string
  readonly expires?: number
}

export function defineKeys(program: Command): void {
  const keys = program.command('keys').description('API keys of the server: add, ls, revoke')
  defineAdd(keys)
  const ls = keys.command('ls').description('list keys, never their secrets')
  jsonOption(storeOptions(ls)).action(
    act<Shared>((terminal, options) => withOperations(options, (perform) => list(terminal, perform))),
  )
  const revoke = keys.command('revoke').argument('<id>', 'as keys ls shows it').description('revoke a key')
  jsonOption(storeOptions(revoke)).action(
    act<Shared, readonly [string]>((terminal, options, id) =>
      withOperations(options, (perform) => revoked(terminal, perform, id)),
    ),
  )
}

function defineAdd(keys: Command): void {
  const add = keys
    .command('add')
    .description('make a key and show it once')
    .requiredOption('--subject <name>', 'its owner; recorded with every action', oneLine)
    .addOption(
      new Option('--scope <scopes...>', `what it may do: ${SCOPES.join(', ')} (admin: everything)`)
        .argParser(scopes)
        .makeOptionMandatory(),
    )
    .option('--role <roles...>', 'roles of the subject, for approvals')
    .option('--tenant <name>', 'reads, starts and claims only work of this tenant', oneLine)
    .option('--expires <span>', 'valid for this long, such as 12h or 90d', spanMs)
  jsonOption(storeOptions(add)).action(
    act<AddOptions>((terminal, options) =>
      withOperations(options, (perform) => added(terminal, perform, options), { create: true }),
    ),
  )
}

async function added(terminal: Terminal, perform: Perform, options: AddOptions): Promise<number> {
  const { subject, scope, role = [], tenant = null, expires = null } = options
  const { row, text } = await perform(addKey, { subject, scopes: scope, roles: role, tenant, validMs: expires })
  if (terminal.json) terminal.data({ key: text, ...keyWire(row) })
  else {
    terminal.print(text)
    terminal.error(`This is shown once and stored nowhere. Send it as "Authorization: Bearer ${text.slice(0, 11)}…".`)
  }
  return EXIT.ok
}

async function list(terminal: Terminal, perform: Perform): Promise<number> {
  const rows = await perform(listKeys, null)
  if (terminal.json) terminal.data({ keys: rows.map(keyWire) })
  else if (rows.length === 0) terminal.print('no keys')
  else {
    const now = await perform(storeTime, null)
    terminal.table(
      [
        { title: 'KEY' },
        { title: 'SUBJECT' },
        { title: 'SCOPES' },
        { title: 'TENANT' },
        { title: 'MADE' },
        { title: 'STATE' },
      ],
      rows.map((row) => [
        row.id,
        row.subject,
        row.scopes.join(', '),
        row.tenant ?? '–',
        ago(row.createdAt, now),
        stateOf(terminal, row, now),
      ]),
    )
  }
  return EXIT.ok
}

async function revoked(terminal: Terminal, perform: Perform, key: string): Promise<number> {
  const row = await hinting('`petrel keys ls` lists them', perform(revokeKey, { key }), ['not_found', 'conflict'])
  if (terminal.json) terminal.data(keyWire(row))
  else terminal.print(`key ${row.id} of ${row.subject} is revoked; servers forget it within two seconds`)
  return EXIT.ok
}

function stateOf(terminal: Terminal, row: KeyRow, now: number): string {
  if (row.revokedAt !== null) return terminal.paint('red', `revoked ${ago(row.revokedAt, now)}`)
  if (row.expiresAt === null) return terminal.paint('green', 'good')
  if (row.expiresAt <= now) return terminal.paint('red', `expired ${ago(row.expiresAt, now)}`)
  return terminal.paint('green', `good until ${clock(row.expiresAt)}`)
}

function keyWire(row: KeyRow): { readonly [key: string]: unknown } {
  const time = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())
  return {
    id: row.id,
    subject: row.subject,
    scopes: row.scopes,
    roles: row.roles,
    tenant: row.tenant,
    created_at: time(row.createdAt),
    expires_at: time(row.expiresAt),
    revoked_at: time(row.revokedAt),
  }
}

function scopes(text: string, before: readonly Scope[] = []): readonly Scope[] {
  const given = text.split(',').filter(Boolean)
  const wrong = given.find((scope) => !(SCOPES as readonly string[]).includes(scope))
  if (wrong === undefined) return [...new Set([...before, ...(given as Scope[])])]
  throw new InvalidArgumentError(`there is no scope '${wrong}'; one of ${SCOPES.join(', ')}.`)
}
