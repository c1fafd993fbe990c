/** The database that a task refers to. Nothing is taken from the environment of the worker, least of all a password. */
import type pg from 'pg'
import type { Json } from '../../net/net.ts'
import { type Credentials, credential } from '../credentials.ts'
import { misfit } from '../envelope.ts'
import { checkOneOf, type FieldTable, given, hasTemplate, isMap } from '../fields.ts'
import type { Fields, Problem, ToolCall } from '../tool.ts'
import type { DatabaseGuard } from './postgres-guard.ts'

export const CONNECTION_FIELDS: FieldTable = {
  auth: { types: ['text', 'map'] },
  credential: { types: ['text', 'map'] },
  url: { types: ['text'] },
  dsn: { types: ['text'] },
}
const NAMES = Object.keys(CONNECTION_FIELDS)
const HINT =
  'auth: { host, port, user, password, database }, a URL (postgres://…), or the name of a credential the worker has.'

export function checkConnection(config: Fields): Problem[] {
  const auth = given(config, 'auth', 'credential')
  const problems = checkOneOf(config, NAMES, { hint: HINT })
  if (auth === undefined || !isMap(auth) || Object.values(auth).some(hasTemplate)) return problems
  return described(auth) === null
    ? [...problems, { path: ['auth'], message: 'auth names no database', hint: HINT }]
    : problems
}

export interface Target {
  readonly config: pg.ClientConfig
  /** null: there is none. */
  readonly password: string | null
}

/** If the playbook itself contains the address of its database, `guard` checks it. */
export async function targetOf(call: ToolCall, credentials: Credentials, guard: DatabaseGuard): Promise<Target> {
  const value = given(call.config, ...NAMES)
  const isName = typeof value === 'string' && !isUrl(value)
  const auth = isName ? await credential(value, call.tenant, credentials) : value
  const target = auth === undefined ? null : described(auth)
  if (target === null) throw misfit(`auth names no database. ${HINT}`)
  if (isName) {
    if (target.password !== null) call.conceal(target.password)
    return target
  }
  const { connectionString } = target.config
  if (connectionString !== undefined) guard.admitUrl(new URL(connectionString))
  return { ...target, config: { ...target.config, stream: guard.stream } }
}

function isUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text)
}

function described(auth: Json): Target | null {
  if (typeof auth === 'string') return isUrl(auth) ? byUrl(auth) : null
  if (!isMap(auth)) return null
  if (isMap(auth['data'])) return described(auth['data'])
  const url = given(auth, 'url', 'dsn', 'connection_string')
  if (typeof url === 'string') return byUrl(url)
  const host = given(auth, 'host', 'db_host')
  if (typeof host !== 'string') return null
  const password = given(auth, 'password', 'db_password')
  const user = String(given(auth, 'user', 'username', 'db_user') ?? 'postgres')
  return {
    config: {
      host,
      port: Number(given(auth, 'port', 'db_port') ?? 5432),
      user,
      database: String(given(auth, 'database', 'dbname', 'db_name') ?? user),
      ssl: sslOf(given(auth, 'sslmode', 'ssl')),
      ...(password === undefined ? {} : { password: String(password) }),
    },
    password: password === undefined ? null : String(password),
  }
}

function byUrl(url: string): Target {
  try {
    const password = decodeURIComponent(new URL(url).password)
    return { config: { connectionString: url }, password: password === '' ? null : password }
  } catch {
    throw misfit('the URL of the database is not valid')
  }
}

function sslOf(mode: Json | undefined): pg.ClientConfig['ssl'] {
  switch (mode) {
    case undefined:
    case false:
    case 'disable':
    case 'allow':
    case 'prefer':
      return false
    case 'require':
    case 'no-verify':
      return { rejectUnauthorized: false }
    default:
      return true
  }
}
