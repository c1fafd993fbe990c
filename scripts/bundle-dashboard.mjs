// @ts-check
/**
 * Builds the dashboard: modules, style sheet and icon with the hash of their content in their names, so that browsers
 * may keep them permanently, each compressed beforehand, and the page that names them.
 *
 *   node scripts/bundle-dashboard.mjs FOLDER
 */
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'rolldown'

const source = fileURLToPath(new URL('../dashboard/', import.meta.url))
const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('node scripts/bundle-dashboard.mjs FOLDER')
const assets = join(folder, 'assets')
fs.mkdirSync(assets, { recursive: true })

/** @param {string} name with its extension @param {string} text @returns {string} its address */
function asset(name, text) {
  const [stem, extension] = name.split('.')
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 8).replaceAll(/[-_]/g, 'x')
  const file = `${stem}-${hash}.${extension}`
  fs.writeFileSync(join(assets, file), text)
  return `/ui/assets/${file}`
}

/** Comments and the white space between tokens; strings of the style sheets contain neither. @param {string} css */
function minified(css) {
  return css
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,>]) ?/g, '$1')
    .replaceAll(';}', '}')
    .replaceAll(/: /g, ':')
    .trim()
}

/**
 * Few files: a larger one is compressed better, and what is in the first is there when a page needs it.
 * @param {string} id @returns {string | undefined}
 */
function groupOf(id) {
  const path = id.slice(source.length)
  if (!id.startsWith(source) || /^(?:api|browser|ui)\//.test(path)) return 'shared'
  if (/^(?:graph|timeline)\//.test(path)) return 'pictures'
  const page = /^pages\/([\w-]+)\//.exec(path)?.[1]
  return page === undefined ? undefined : PAGES.find(({ pages }) => pages.includes(page))?.group
}

/** Pages that are opened one after another. */
const PAGES = [
  { group: 'instance', pages: ['instance', 'run', 'history'] },
  { group: 'work', pages: ['instances', 'runs', 'operations', 'errors', 'queues', 'workers', 'schedules'] },
  { group: 'people', pages: ['gates', 'definitions', 'sagas', 'inbox', 'webhooks', 'keys'] },
]

/** @type {import('rolldown').OutputOptions} */
const output = {
  dir: assets,
  format: 'esm',
  minify: true,
  entryFileNames: '[name]-[hash].js',
  chunkFileNames: '[name]-[hash].js',
}
const options = { platform: /** @type {const} */ ('browser'), external: [] }

/** Threads of the page, each a module of its own, named by its constant in the code. */
const WORKERS = { __LAYOUT_WORKER__: 'graph/layout-worker.ts' }

/** @type {Record<string, string>} */
const define = {}
for (const [constant, file] of Object.entries(WORKERS)) {
  if (!fs.existsSync(join(source, file))) continue
  const { output: made } = await build({ ...options, input: join(source, file), output })
  define[constant] = JSON.stringify(`/ui/assets/${made[0].fileName}`)
}
const { output: made } = await build({
  ...options,
  input: { app: join(source, 'app.tsx') },
  preserveEntrySignatures: 'allow-extension',
  transform: { define },
  output: {
    ...output,
    codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: groupOf, debugName: 'pages' }] },
  },
})
const app = made.find((chunk) => chunk.type === 'chunk' && chunk.isEntry)
if (app === undefined) throw new Error('the dashboard has no entry')

const styles = fs
  .readdirSync(join(source, 'styles'))
  .sort()
  .map((file) => fs.readFileSync(join(source, 'styles', file), 'utf8'))
const page = fs
  .readFileSync(join(source, 'index.html'), 'utf8')
  .replace('%app%', `/ui/assets/${app.fileName}`)
  .replace('%styles%', asset('styles.css', minified(styles.join('\n'))))
  .replace('%icon%', asset('icon.svg', fs.readFileSync(join(source, 'icon.svg'), 'utf8')))
fs.writeFileSync(join(folder, 'index.html'), page)

for (const file of [join(folder, 'index.html'), ...fs.readdirSync(assets).map((name) => join(assets, name))]) {
  const bytes = fs.readFileSync(file)
  fs.writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
  fs.writeFileSync(
    `${file}.br`,
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
  )
}
