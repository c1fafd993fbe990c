/**
 * What keychains may read on the worker's machine. Playbooks name variables and files, and the operator decides which
 * of them a worker may read: by default none, since the environment and the files of a worker contain more than the
 * secrets of playbooks.
 */
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { PetrelError } from '../../../kernel/errors.ts'

export interface SecretSources {
  /**
   * Environment variables that keychains may read: names and patterns (`APP_*`); `acme:ACME_*` only in runs of tenant acme;
   * true: any. Default: what the environment variable PETREL_SECRETS_ENV lists, by comma; without it none.
   */
  readonly env?: readonly string[] | true
  /**
   * Directory below which keychains may read files. A run of a tenant reads only below the subdirectory of that name. true: any
   * file, from where the process runs. Default: the environment variable PETREL_SECRETS_DIR; without it none.
   */
  readonly dir?: string | true
  /** Where variables are read. Default: the environment of the process. */
  readonly variables?: Variables
}

type Variables = { readonly [variable: string]: string | undefined }

interface Rule {
  /** null: any run. */
  readonly tenant: string | null
  readonly matches: RegExp
}

/** Why a file is refused; the message also names the operator's option. */
export type Place = { readonly root: string | null; readonly path: string } | { readonly refused: string }

export class Secrets {
  readonly variables: Variables
  readonly #texts: readonly string[]
  readonly #rules: readonly Rule[] | true
  readonly #dir: string | true | null

  constructor({ env, dir, variables = process.env }: SecretSources) {
    const allowed = env ?? byComma(process.env['PETREL_SECRETS_ENV'] ?? '')
    this.variables = variables
    this.#texts = allowed === true ? [] : allowed
    this.#rules = allowed === true ? true : allowed.map(ruleOf)
    this.#dir = dir ?? (process.env['PETREL_SECRETS_DIR'] || null)
  }

  /** For the log at the start of the worker. */
  summary(): string {
    const rules = this.#rules === true ? ['any variable'] : this.#texts
    const files = this.#dir === true ? ['any file'] : this.#dir === null ? [] : [`files below ${this.#dir}`]
    const given = [...rules, ...files]
    return given.length === 0 ? 'no secrets (--secrets-env, --secrets-dir)' : `secrets: ${given.join(', ')}`
  }

  mayRead(variable: string, tenant: string | null): boolean {
    if (this.#rules === true) return true
    return this.#rules.some((rule) => (rule.tenant === null || rule.tenant === tenant) && rule.matches.test(variable))
  }

  /** Where the file of a keychain entry is, and the directory it must not leave (null: any). */
  async placeOf(ref: string, tenant: string | null): Promise<Place> {
    if (this.#dir === true) return { root: null, path: resolve(ref) }
    if (this.#dir === null) return { refused: 'this worker gives out no files' }
    if (tenant === null) return { root: this.#dir, path: resolve(this.#dir, ref) }
    // By listing the directory: where the file system ignores case, ACME would find the directory of acme.
    const names: readonly string[] = await readdir(this.#dir).catch(() => [])
    if (!names.includes(tenant))
      return { refused: `the directory of secrets has no subdirectory for tenant '${tenant}'` }
    const root = join(this.#dir, tenant)
    return { root, path: resolve(root, ref) }
  }
}

/** Refuses settings that make no sense, at the start of the worker. */
export function checkSecrets(sources: SecretSources): void {
  new Secrets(sources)
}

function ruleOf(entry: string): Rule {
  const colon = entry.lastIndexOf(':')
  const [tenant, pattern] = colon < 0 ? [null, entry] : [entry.slice(0, colon), entry.slice(colon + 1)]
  if (tenant === '' || !/^[\w.*-]+$/.test(pattern)) {
    const message = `"${entry}" names no environment variable: write API_TOKEN, APP_* or acme:ACME_*`
    throw new PetrelError('invalid_request', message)
  }
  const text = pattern.split('*').map((part) => part.replaceAll('.', '\\.'))
  return { tenant, matches: new RegExp(`^${text.join('.*')}$`, 's') }
}

function byComma(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}
