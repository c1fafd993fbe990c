// @ts-check
/**
 * Builds the JavaScript of dist from src: a few files instead of several hundred, each of which Node would have to
 * find, read and link on every start. Code shared by several entries is in separate chunks, so that each class exists
 * once. Packages are not bundled.
 *
 *   node scripts/bundle.mjs FOLDER
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const src = fileURLToPath(new URL('../src/', import.meta.url))
const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('node scripts/bundle.mjs FOLDER')

/** @typedef {{ getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null }} Modules */

/** @type {Set<string> | null} */
let sdk = null

/**
 * Pieces that most entries load: `core` is what `import 'petrel'` needs of kernel and net, `net` the rest of both, which
 * comes with the engine. Any other module is put where its importers need it.
 * @param {string} id @param {Modules} modules
 */
function groupOf(id, modules) {
  const [, folder = ''] = /[\\/]src[\\/](kernel|net|model|views)[\\/]/.exec(id) ?? []
  if (folder === 'model' || folder === 'views') return 'model'
  if (folder === '') return null
  sdk ??= loadedWith(join(src, 'index.ts'), modules)
  return sdk.has(id) ? 'core' : 'net'
}

/** The modules that a module imports, directly or not, except by `import()`. @param {string} entry @param {Modules} modules */
function loadedWith(entry, modules) {
  const found = new Set([entry])
  for (const id of found) for (const next of modules.getModuleInfo(id)?.importedIds ?? []) found.add(next)
  return found
}

await build({
  input: {
    index: join(src, 'index.ts'),
    nats: join(src, 'nats.ts'),
    testing: join(src, 'testing.ts'),
    cli: join(src, 'cli/main.ts'),
    insides: join(src, 'insides.ts'),
    // Entry files of threads, next to the others.
    'definition-thread': join(src, 'operations/definitions/definition-thread.ts'),
  },
  platform: 'node',
  external: (id) => !/^[./]/.test(id) && !id.startsWith(src),
  output: {
    dir: folder,
    format: 'esm',
    // All of them directly in dist: src/files.ts finds the migrations relative to itself.
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    sourcemap: true,
    // Without groups the modules that pieces share become a hundred files of a few lines.
    codeSplitting: { groups: [{ debugName: 'shared', name: groupOf }] },
    // Those for readers of the API are in the declarations.
    comments: { jsdoc: false },
  },
})
