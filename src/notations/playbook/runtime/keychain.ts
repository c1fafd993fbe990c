/**
 * Secrets of a step, read from the worker's own environment when a run starts, as far as its operator allows
 * (secret-sources.ts). They exist in this process only, are passed to the fields of tools and to nothing else, and no
 * message about them contains a value.
 */
import { extname } from 'node:path'
import { parse as parseYaml } from 'yaml'
import type { Json } from '../../../net/net.ts'
import { FileRefused, readBelow } from '../../../tools/file-below.ts'
import type { ToolError } from '../../../tools/tool.ts'
import { ownError } from './outcome.ts'
import type { KeychainEntry } from './program.ts'
import type { Secrets } from './secret-sources.ts'
import type { Fields } from './state.ts'

export interface Keychain {
  readonly entries: Fields
  /** Every text and number in them. */
  readonly secrets: readonly string[]
}

const LARGEST_FILE = 1024 * 1024

export class KeychainError extends Error {
  readonly error: ToolError

  constructor(code: string, message: string) {
    super(message)
    this.error = ownError('auth', code, message)
  }
}

/** `tenant`: of the run that asks. */
export async function openKeychain(
  entries: readonly KeychainEntry[],
  secrets: Secrets,
  tenant: string | null,
): Promise<Keychain> {
  const opened: Record<string, Json> = {}
  for (const entry of entries) {
    const value =
      entry.kind === 'env' ? fromEnvironment(entry, secrets, tenant) : await fromFile(entry, secrets, tenant)
    Object.defineProperty(opened, entry.name, { value, enumerable: true })
  }
  return { entries: opened, secrets: leaves(opened) }
}

/** One variable is the entry itself; a map gives the entry keys. */
function fromEnvironment({ name, map, ref }: KeychainEntry, secrets: Secrets, tenant: string | null): Json {
  const read = (variable: string): string => {
    if (!secrets.mayRead(variable, tenant)) throw variableForbidden(name, variable, tenant)
    const value = Object.hasOwn(secrets.variables, variable) ? secrets.variables[variable] : undefined
    if (value !== undefined && value !== '') return value
    throw new KeychainError(
      'KEYCHAIN_MISSING',
      `keychain entry '${name}': the environment variable ${variable} is not set where the worker runs`,
    )
  }
  if (map !== null) return Object.fromEntries(Object.entries(map).map(([key, variable]) => [key, read(variable)]))
  if (ref !== null) return read(ref)
  throw new KeychainError('KEYCHAIN_INVALID', `keychain entry '${name}' names no environment variable`)
}

function variableForbidden(name: string, variable: string, tenant: string | null): KeychainError {
  const whose = tenant === null ? '' : ` to runs of tenant '${tenant}'`
  return new KeychainError(
    'KEYCHAIN_FORBIDDEN',
    `keychain entry '${name}': this worker does not give out the environment variable ${variable}${whose}; its operator allows it with --secrets-env ${variable} (PETREL_SECRETS_ENV, or secrets.env of a program)`,
  )
}

async function fromFile({ name, ref, map }: KeychainEntry, secrets: Secrets, tenant: string | null): Promise<Json> {
  if (ref === null) throw new KeychainError('KEYCHAIN_INVALID', `keychain entry '${name}' names no file`)
  const place = await secrets.placeOf(ref, tenant)
  if ('refused' in place) throw fileForbidden(name, ref, place.refused)
  const content = parsed(name, ref, await textOf(name, ref, place))
  return map === null ? content : picked(name, ref, map, content)
}

function fileForbidden(name: string, ref: string, why: string): KeychainError {
  return new KeychainError(
    'KEYCHAIN_FORBIDDEN',
    `keychain entry '${name}': ${ref} is not read: ${why}; its operator allows files below a directory with --secrets-dir DIR (PETREL_SECRETS_DIR, or secrets.dir of a program)`,
  )
}

/** `map` of a file: key → key of the file. */
function picked(name: string, ref: string, map: { readonly [key: string]: string }, content: Json): Json {
  return Object.fromEntries(
    Object.entries(map).map(([key, from]) => {
      const found = typeof content === 'object' && content !== null && Object.hasOwn(content, from)
      if (!found) throw new KeychainError('KEYCHAIN_MISSING', `keychain entry '${name}': ${ref} has no key '${from}'`)
      return [key, (content as Fields)[from]!]
    }),
  )
}

async function textOf(
  name: string,
  ref: string,
  { root, path }: { readonly root: string | null; readonly path: string },
): Promise<string> {
  try {
    return await readBelow(path, root, LARGEST_FILE)
  } catch (problem) {
    if (problem instanceof FileRefused) {
      if (problem.why === 'outside') throw fileForbidden(name, ref, 'it is not below the directory of secrets')
      const why = problem.why === 'too large' ? 'is larger than 1 MiB' : 'is not a file'
      throw new KeychainError('KEYCHAIN_INVALID', `keychain entry '${name}': ${ref} ${why}`)
    }
    const { code = 'unknown' } = problem as NodeJS.ErrnoException
    throw new KeychainError('KEYCHAIN_MISSING', `keychain entry '${name}': the file ${ref} cannot be read (${code})`)
  }
}

/** Decided by the file's name, never by its content. A text file is its text without the newline at its end. */
function parsed(name: string, ref: string, text: string): Json {
  const kind = extname(ref).toLowerCase()
  if (!['.json', '.yaml', '.yml'].includes(kind)) return text.replace(/\r?\n$/, '')
  try {
    return (kind === '.json' ? JSON.parse(text) : parseYaml(text)) as Json
  } catch {
    // A parser's message quotes the text.
    throw new KeychainError(
      'KEYCHAIN_INVALID',
      `keychain entry '${name}': the file ${ref} is not valid ${kind.slice(1)}`,
    )
  }
}

function leaves(value: Json): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number') return [String(value)]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value as Fields).flatMap(leaves)
}
