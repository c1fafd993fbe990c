/**
 * Credentials that playbooks name (`auth: pg_main`) and the operator of the worker provides, as text or as a map: the
 * environment variable PETREL_CREDENTIAL_PG_MAIN (a map as JSON), otherwise the entry of that name in the file at
 * PETREL_CREDENTIALS_FILE. Both are read on request, so that a credential may be changed while the worker runs. A map
 * with `tenant` is only for the runs of that tenant; a list of such maps is one credential per tenant.
 */
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { Json } from '../net/net.ts'
import { ToolFault } from './envelope.ts'
import { isGiven, isMap } from './fields.ts'

/** undefined: there is no credential of that name. */
export type Credentials = (name: string, tenant: string | null) => Json | undefined | Promise<Json | undefined>

const FILE = 'PETREL_CREDENTIALS_FILE'

export const ownCredentials: Credentials = async (name, tenant) => {
  const text = process.env[variableOf(name)]
  if (text === undefined) return forTenant(await fromFile(name), tenant)
  return /^\s*[{[]/.test(text) ? forTenant(await parsed(text, variableOf(name), '.json'), tenant) : text
}

/**
 * The part of an entry that this tenant's runs may use. One without `tenant` is for all; the tenant's own takes
 * precedence.
 */
function forTenant(entry: Json | undefined, tenant: string | null): Json | undefined {
  const given = Array.isArray(entry) ? entry.filter(isMap) : [entry]
  const own = given.find((each) => isMap(each) && isGiven(each, 'tenant') && each['tenant'] === tenant)
  const found = own ?? given.find((each) => !isMap(each) || !isGiven(each, 'tenant'))
  if (!isMap(found)) return found
  const { tenant: _, ...rest } = found
  return rest
}

/** `tenant`: of the run that asks. */
export async function credential(name: string, tenant: string | null, credentials: Credentials): Promise<Json> {
  const found = await credentials(name, tenant)
  if (found !== undefined) return found
  // The name may be a secret itself, by mistake: it is shown whole, so that it can be redacted, or not at all.
  const shown = name.length > 100 ? 'of that name' : `called "${name}"`
  const whose = tenant === null ? '' : ` for tenant '${tenant}'`
  const message = `there is no credential ${shown}${whose}; workers have them from PETREL_CREDENTIAL_<NAME> or ${FILE}`
  throw new ToolFault({ kind: 'auth', code: 'CREDENTIAL_UNKNOWN', message })
}

async function fromFile(name: string): Promise<Json | undefined> {
  const path = process.env[FILE]
  if (path === undefined || path === '') return undefined
  const text = await readFile(path, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw invalid(`the file that ${FILE} names cannot be read (${code})`)
  })
  const all = await parsed(text, `the file that ${FILE} names`, extname(path).toLowerCase())
  if (!isMap(all)) throw invalid(`the file that ${FILE} names is not a map of names to credentials`)
  return Object.hasOwn(all, name) ? all[name] : undefined
}

/** Without the parser's message, which quotes the text. */
async function parsed(text: string, what: string, kind: string): Promise<Json> {
  try {
    return (kind === '.json' ? JSON.parse(text) : (await import('yaml')).parse(text)) as Json
  } catch {
    throw invalid(`${what} is not valid ${kind === '.json' ? 'JSON' : 'YAML'}`)
  }
}

function invalid(message: string): ToolFault {
  return new ToolFault({ kind: 'auth', code: 'CREDENTIAL_INVALID', message })
}

function variableOf(name: string): string {
  return `PETREL_CREDENTIAL_${name.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`
}
