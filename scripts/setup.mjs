// @ts-check
/**
 * Brings a checkout to where it can run: installs what is missing, builds what is older than its source.
 * On the path of every `npm start`, so with nothing to do it only compares times and prints nothing.
 */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
const stamp = join(dist, '.stamp')

/** Thrown with a message for the person at the terminal. */
export class SetupError extends Error {}

export function setup() {
  requireNode()
  installIfStale()
  buildIfStale()
}

export function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new SetupError(`Petrel needs Node 20.19 or newer; this is ${process.version}.`)
  }
}

export function installIfStale() {
  if (!installIsStale()) return
  console.log('Installing dependencies (npm ci) …')
  if (npm('ci')) return
  console.log('npm ci did not succeed; trying npm install, which may rewrite package-lock.json …')
  if (npm('install')) return
  throw new SetupError('The dependencies could not be installed: npm ci and npm install both failed (see above).')
}

export function buildIfStale() {
  if (buildIsStale()) build()
}

/**
 * Builds beside dist and swaps at the end: dist is always one whole build without type errors, never holds the
 * output of a deleted source, and two builds at once do not mix.
 */
export function build() {
  const startedAt = new Date()
  const fresh = join(root, `.dist-${process.pid}`)
  const old = `${fresh}-old`
  console.log('Building dist …')
  try {
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    if (!ran([tsc, '-p', 'tsconfig.build.json', '--outDir', fresh])) {
      throw new SetupError('The build failed: tsc found the errors above.')
    }
    if (!ran([join(root, 'scripts/bundle.mjs'), fresh])) {
      throw new SetupError('The build failed: the bundle could not be written, see above.')
    }
    if (!ran([join(root, 'scripts/bundle-dashboard.mjs'), join(fresh, 'dashboard')])) {
      throw new SetupError('The build failed: the dashboard could not be bundled, see above.')
    }
    copyAsIs(fresh)
    // The time the build began, not ended: a file saved in between counts as newer.
    fs.writeFileSync(join(fresh, '.stamp'), '')
    fs.utimesSync(join(fresh, '.stamp'), startedAt, startedAt)
    if (fs.existsSync(dist)) fs.renameSync(dist, old)
    fs.renameSync(fresh, dist)
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true })
    fs.rmSync(old, { recursive: true, force: true })
  }
}

/** @param {string[]} script and its arguments */
function ran(script) {
  return spawnSync(process.execPath, script, { cwd: root, stdio: 'inherit' }).status === 0
}

/**
 * Migrations, and what a thread is started from.
 * @param {string} outDir
 */
function copyAsIs(outDir) {
  const src = join(root, 'src')
  for (const entry of fs.readdirSync(src, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/\.(sql|js)$/.test(entry.name)) continue
    const from = join(entry.parentPath, entry.name)
    const to = join(outDir, relative(src, from))
    fs.mkdirSync(dirname(to), { recursive: true })
    fs.copyFileSync(from, to)
  }
}

function buildIsStale() {
  const builtAt = modifiedAt(stamp)
  if (builtAt === null) return true
  const config = [
    'tsconfig.json',
    'tsconfig.build.json',
    'package-lock.json',
    'scripts/bundle.mjs',
    'scripts/bundle-dashboard.mjs',
  ].map((file) => join(root, file))
  if (config.some((file) => (modifiedAt(file) ?? 0) > builtAt)) return true
  return newerThan(join(root, 'src'), builtAt) || newerThan(join(root, 'dashboard'), builtAt)
}

/**
 * Folders count too: deleting or renaming a file changes only its folder's time. Tests are not built.
 * @param {string} folder @param {number} time @returns {boolean}
 */
function newerThan(folder, time) {
  if ((modifiedAt(folder) ?? 0) > time) return true
  return fs.readdirSync(folder, { withFileTypes: true }).some((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return newerThan(path, time)
    return !entry.name.endsWith('.test.ts') && (modifiedAt(path) ?? 0) > time
  })
}

function installIsStale() {
  const wantedFile = join(root, 'package-lock.json')
  const installedFile = join(root, 'node_modules/.package-lock.json')
  const wantedAt = modifiedAt(wantedFile)
  const installedAt = modifiedAt(installedFile)
  if (installedAt === null) return true
  if (wantedAt === null || wantedAt <= installedAt) return false
  // A newer time alone is not sufficient (npm writes the two in this order, git touches one of them): compare the
  // contents.
  const wanted = JSON.parse(fs.readFileSync(wantedFile, 'utf8')).packages
  const installed = JSON.parse(fs.readFileSync(installedFile, 'utf8')).packages
  const same = Object.entries(wanted).every(
    ([path, entry]) =>
      path === '' || installed[path]?.version === entry.version || (entry.optional && !installed[path]),
  )
  if (same) fs.utimesSync(installedFile, new Date(), new Date())
  return !same
}

/** @param {string} path */
function modifiedAt(path) {
  return fs.statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null
}

/** @param {string} command */
function npm(command) {
  // --include=dev: the build needs the compiler even where NODE_ENV=production. npm_execpath: the npm that runs us.
  const args = [command, '--include=dev', '--no-audit', '--no-fund']
  const self = process.env['npm_execpath']
  const { status } = self?.endsWith('.js')
    ? spawnSync(process.execPath, [self, ...args], { cwd: root, stdio: 'inherit' })
    : spawnSync('npm', args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' })
  return status === 0
}

/** Runs the task and turns a SetupError into its message and exit code 1. @param {() => void} task */
export function orExit(task) {
  try {
    task()
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    console.error(`\n${error.message}`)
    process.exit(1)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  orExit(() => {
    requireNode()
    installIfStale()
    if (process.argv.includes('--build')) build()
    else buildIfStale()
  })
}
