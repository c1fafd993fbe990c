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
  },
})
