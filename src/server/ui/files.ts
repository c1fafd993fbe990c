/**
 * The files of the dashboard, as its build left them: index.html, and `assets/` with names that contain a hash. Only names that
 * are in the folder are served, so no path leads out of it. They are read with the first request, and again when another
 * build has replaced index.html.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { sha256 } from '../../kernel/hash.ts'

export type Coding = 'br' | 'gzip'

export interface DashboardFile {
  readonly type: string
  readonly body: Buffer
  readonly etag: string
  /** Compressed when it was built. */
  readonly compressed: Readonly<Partial<Record<Coding, Buffer>>>
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  map: 'application/json; charset=utf-8',
  webmanifest: 'application/manifest+json; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
  png: 'image/png',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
  txt: 'text/plain; charset=utf-8',
}
const SUFFIXES: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz' }
const INDEX = 'index.html'
const ASSETS = 'assets/'

type Listed = ReadonlyMap<string, Promise<DashboardFile> | null>

export class DashboardFiles {
  readonly #folder: URL
  /** By name, as in `assets/main-4f2a.js`; null: not read yet. */
  #files = new Map<string, Promise<DashboardFile> | null>()
  #builtAt: number | null = null

  constructor(folder: URL) {
    this.#folder = folder
  }

  /** null: it has not been built. */
  async index(): Promise<DashboardFile | null> {
    await this.#list()
    return this.#builtAt === null ? null : this.find(INDEX)
  }

  /** null: there is no such file. */
  async find(name: string): Promise<DashboardFile | null> {
    if (this.#builtAt === null) await this.#list()
    const known = typeOf(name) === undefined ? undefined : this.#files.get(name)
    if (known === undefined) return null
    const file = known ?? this.#read(name, this.#files)
    if (known === null) this.#files.set(name, file)
    return file
  }

  async #list(): Promise<void> {
    const builtAt = await stat(new URL(INDEX, this.#folder)).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    )
    if (builtAt === this.#builtAt) return
    const names =
      builtAt === null ? [] : [...(await namesIn(this.#folder, '')), ...(await namesIn(this.#folder, ASSETS))]
    this.#files = new Map(names.map((name) => [name, null]))
    this.#builtAt = builtAt
  }

  async #read(name: string, listed: Listed): Promise<DashboardFile> {
    const body = await readFile(new URL(name, this.#folder))
    const compressed: Partial<Record<Coding, Buffer>> = {}
    for (const coding of ['br', 'gzip'] as const) {
      const beside = `${name}${SUFFIXES[coding]}`
      if (listed.has(beside)) compressed[coding] = await readFile(new URL(beside, this.#folder))
    }
    return {
      type: typeOf(name) as string,
      body,
      etag: `W/"${sha256(body.toString('latin1')).slice(0, 32)}"`,
      compressed,
    }
  }
}

/** undefined: not the name of a file, but a page of the application: `definitions/order.v2`. */
export function typeOf(name: string): string | undefined {
  const extension = /\.([a-z0-9]+)$/.exec(name)?.[1] ?? ''
  return Object.hasOwn(TYPES, extension) ? TYPES[extension] : undefined
}

/** Files of known types, and the compressed ones beside them; no links. */
async function namesIn(folder: URL, part: '' | typeof ASSETS): Promise<readonly string[]> {
  const found = await readdir(new URL(part, folder), { withFileTypes: true }).catch(() => [])
  return found
    .filter((entry) => entry.isFile() && /^[\w.-]+$/.test(entry.name))
    .map(({ name }) => `${part}${name}`)
    .filter((name) => typeOf(name.replace(/\.(?:br|gz)$/, '')) !== undefined)
}
