/**
 * Secrets of a step, read from the worker's own surroundings when a run starts. They exist in this process only, are given to the
 * fields of tools and to nothing else, and no message about them holds a value.
 */
import { readFile, stat } from 'node:fs/promises'
import { extname, isAbsolute, relative, resolve } from 'node:path'
import { parse as parseYaml } from 'yaml'
import type { Json } from '../net/net.ts'
import type { ToolError } from '../tools/tool.ts'
import { ownError } from './outcome.ts'
import type { KeychainEntry } from './program.ts'
import type { Fields } from './state.ts'

export interface SecretSources {
  /** Default: the environment of the process. */
  readonly env?: { readonly [variable: string]: string | undefined }
  /** Files are named from here and only those below it are read. Left out: from where the process stands, any file. */
  readonly folder?: string
}

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

export async function openKeychain(
  entries: readonly KeychainEntry[],
  { env = process.env, folder }: SecretSources,
): Promise<Keychain> {
  const opened: Record<string, Json> = {}
  for (const entry of entries) {
    const value = entry.kind === 'env' ? fromEnvironment(entry, env) : await fromFile(entry, folder)
    Object.defineProperty(opened, entry.name, { value, enumerable: true })
  }
  return { entries: opened, secrets: leaves(opened) }
}

/** One variable is the entry itself; a map gives the entry keys. */
function fromEnvironment({ name, map, ref }: KeychainEntry, env: NonNullable<SecretSources['env']>): Json {
  const read = (variable: string): string => {
    const value = Object.hasOwn(env, variable) ? env[variable] : undefined
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

async function fromFile({ name, ref, map }: KeychainEntry, folder: string | undefined): Promise<Json> {
  if (ref === null) throw new KeychainError('KEYCHAIN_INVALID', `keychain entry '${name}' names no file`)
  const path = resolve(folder ?? '.', ref)
  if (folder !== undefined && isOutside(path, folder)) {
    throw new KeychainError('KEYCHAIN_INVALID', `keychain entry '${name}': ${ref} is not below the folder of secrets`)
  }
  const content = parsed(name, ref, await textOf(name, ref, path))
  return map === null ? content : picked(name, ref, map, content)
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

function isOutside(path: string, folder: string): boolean {
  const below = relative(resolve(folder), path)
  return below === '' || below.startsWith('..') || isAbsolute(below)
}

async function textOf(name: string, ref: string, path: string): Promise<string> {
  try {
    const { size } = await stat(path)
    if (size <= LARGEST_FILE) return await readFile(path, 'utf8')
  } catch (problem) {
    const { code = 'unknown' } = problem as NodeJS.ErrnoException
    throw new KeychainError('KEYCHAIN_MISSING', `keychain entry '${name}': the file ${ref} cannot be read (${code})`)
  }
  throw new KeychainError('KEYCHAIN_INVALID', `keychain entry '${name}': the file ${ref} is larger than 1 MiB`)
}

/** By the file's name, never by a look at its content. A text file is its text without the newline at its end. */
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
