/** keys add | ls | revoke: who may use the server. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { EngineApi } from '../../../engine/api.ts'
import { makeKey } from '../../../http/api-key.ts'
import type { KeyRow } from '../../../model/rows.ts'
import { SCOPES } from '../../../operations/caller.ts'
import { withEngine } from '../../process/connect.ts'
import { act, jsonOption, oneLine, type Shared, storeOptions } from '../../terminal/act.ts'
import { CliError, EXIT } from '../../terminal/failure.ts'
import { spanMs } from '../../terminal/span.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { ago, clock } from '../../terminal/words.ts'

interface AddOptions extends Shared {
  readonly subject: string
  readonly scope: readonly string[]
  readonly role?: readonly string[]
  readonly tenant?: string
  readonly expires?: number
}

export function defineKeys(program: Command): void {
  const keys = program.command('keys').description('API keys of the server: add, ls, revoke')
  defineAdd(keys)
  const ls = keys.command('ls').description('list keys, never their secrets')
  jsonOption(storeOptions(ls)).action(
    act<Shared>((terminal, options) => withEngine(options, (engine) => list(terminal, engine))),
  )
  const revoke = keys.command('revoke').argument('<id>', 'as keys ls shows it').description('revoke a key')
  jsonOption(storeOptions(revoke)).action(
    act<Shared, readonly [string]>((terminal, options, id) =>
      withEngine(options, (engine) => revokeKey(terminal, engine, id)),
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
      withEngine(options, (engine) => addKey(terminal, engine, options), { create: true }),
    ),
  )
}

async function addKey(terminal: Terminal, engine: EngineApi, options: AddOptions): Promise<number> {
  const { id, hash, text } = makeKey()
  const createdAt = await engine.queries.now()
  const row: KeyRow = {
    id,
    hash,
    subject: options.subject,
    scopes: options.scope,
    roles: options.role ?? [],
    tenant: options.tenant ?? null,
    createdAt,
    expiresAt: options.expires === undefined ? null : createdAt + options.expires,
    revokedAt: null,
  }
  await engine.records.keys.add(row)
  if (terminal.json) terminal.data({ key: text, ...keyWire(row) })
  else {
    terminal.print(text)
    terminal.error(`This is shown once and stored nowhere. Send it as "Authorization: Bearer ${text.slice(0, 11)}…".`)
  }
  return EXIT.ok
}

async function list(terminal: Terminal, engine: EngineApi): Promise<number> {
  const rows = await engine.records.keys.list()
  if (terminal.json) terminal.data({ keys: rows.map(keyWire) })
  else if (rows.length === 0) terminal.print('no keys')
  else {
    const now = await engine.queries.now()
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

async function revokeKey(terminal: Terminal, engine: EngineApi, given: string): Promise<number> {
  const id = /^petrel_([0-9a-f]{16})_/.exec(given)?.[1] ?? given
  const row = await engine.records.keys.revoke(id)
  if (row === null) {
    const known = await engine.records.keys.find(id)
    throw known === null
      ? new CliError('not_found', `there is no key ${id}`, '`petrel keys ls` lists them', { id })
      : new CliError('conflict', `key ${id} was revoked before`, '`petrel keys ls` lists them', { id })
  }
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

function scopes(text: string, before: readonly string[] = []): readonly string[] {
  const given = text.split(',').filter(Boolean)
  const wrong = given.find((scope) => !(SCOPES as readonly string[]).includes(scope))
  if (wrong === undefined) return [...new Set([...before, ...given])]
  throw new InvalidArgumentError(`there is no scope '${wrong}'; one of ${SCOPES.join(', ')}.`)
}
