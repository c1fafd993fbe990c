// @ts-check
/**
 * Checks the tables in docs/conformance: a rule marked as done has a test that exists and passed.
 * docs/conformance/README.md gives the format. Alone: `node scripts/check-conformance.mjs [report.json]`,
 * with a report of vitest's json reporter; the last `npm test` leaves one in .test/report.json.
 */
import * as fs from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const columns = ['§', 'rule', 'test', 'status']

/**
 * @typedef {{ file: string, line: number, section: string, rule: string, test: string, status: string }} Row
 * @typedef {{ file: string, path: string, status: string }} Test path: titles from the outermost, joined by ' › '
 * @typedef {{ rows: number, done: number, later: number, deviations: number, unchecked: number, offending: string[] }} Verdict
 */

/**
 * @param {{ report: any, allowSkipped?: boolean, folder?: string }} params
 *   allowSkipped: a service was missing, so a row whose tests were only skipped is left unchecked
 * @returns {Verdict}
 */
export function checkConformance({ report, allowSkipped = false, folder = root }) {
  const { rows, offending } = readRows(folder)
  const tests = readTests(report, folder)
  const importers = suiteImporters(folder, new Set(tests.map((test) => test.file)))
  const count = { done: 0, later: 0, deviations: 0, unchecked: 0 }

  for (const row of rows) {
    const complaints = []
    const named = row.status.startsWith('later') ? [] : testsNamed(row.test)
    if (row.status === 'done') {
      count.done++
      if (named.length === 0) complaints.push('is done but names no `path › test name`')
    } else if (/^later \(\d+\.\d+\.\d+\)$/.test(row.status)) {
      count.later++
    } else if (row.status.startsWith('deviation')) {
      count.deviations++
      complaints.push(...decisionComplaints(row, folder))
    } else {
      complaints.push(`has the unknown status "${row.status}"`)
    }
    for (const name of named) {
      const answer = look(name, tests, importers)
      if (answer === 'skipped' && allowSkipped) count.unchecked++
      else if (answer !== 'passed') complaints.push(`names a test that ${answer}: ${name.file} › ${name.path}`)
    }
    offending.push(...complaints.map((complaint) => `${row.file}:${row.line} § ${row.section} ${complaint}`))
  }
  return { rows: rows.length, ...count, offending }
}

/** @param {string} folder */
function readRows(folder) {
  /** @type {Row[]} */
  const rows = []
  /** @type {string[]} */
  const offending = []
  const conformance = join(folder, 'docs/conformance')
  const files = fs.existsSync(conformance) ? fs.readdirSync(conformance) : []
  for (const name of files.filter((name) => name.endsWith('.md') && name !== 'README.md').sort()) {
    const file = `docs/conformance/${name}`
    let inTable = false
    let found = 0
    const lines = fs.readFileSync(join(folder, file), 'utf8').split('\n')
    for (const [index, text] of lines.entries()) {
      const cells = text.trim().startsWith('|') ? cellsOf(text) : null
      if (cells === null) inTable = false
      else if (columns.every((column, at) => cells[at]?.toLowerCase() === column)) inTable = true
      else if (inTable && !cells.every((cell) => /^:?-+:?$/.test(cell))) {
        found++
        const [section = '', rule = '', test = '', status = ''] = cells
        if (cells.length === columns.length) rows.push({ file, line: index + 1, section, rule, test, status })
        else offending.push(`${file}:${index + 1} has ${cells.length} cells instead of ${columns.length}`)
      }
    }
    if (found === 0) offending.push(`${file} has no table with the columns ${columns.join(' | ')}`)
  }
  return { rows, offending }
}

/** Splits a table row at the bars that are not escaped. @param {string} text */
function cellsOf(text) {
  const inner = text
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inner.split(/(?<!\\)\|/).map((cell) => oneSpace(cell.replaceAll('\\|', '|')))
}

/** @param {string} text */
function oneSpace(text) {
  return text.replace(/\s+/g, ' ').trim()
}

/** Every `path › name` between backticks; double backticks where the name has one itself. @param {string} cell */
function testsNamed(cell) {
  const quoted = [...cell.matchAll(/(`+)(.+?)\1(?!`)/g)].map((match) => oneSpace(match[2] ?? ''))
  return quoted.flatMap((text) => {
    const at = text.indexOf(' › ')
    return at < 0 ? [] : [{ file: text.slice(0, at), path: text.slice(at + ' › '.length) }]
  })
}

/** @param {any} report @param {string} folder @returns {Test[]} */
function readTests(report, folder) {
  return report.testResults.flatMap((/** @type {any} */ result) =>
    result.assertionResults.map((/** @type {any} */ test) => ({
      file: relative(folder, result.name),
      path: [...test.ancestorTitles, test.title].map(oneSpace).join(' › '),
      status: test.status,
    })),
  )
}

/**
 * The name may be that of a test or of a group, with or without the groups around it; all tests it covers count.
 * A file that is not a test file itself is a shared suite: its tests run in the test files that import it.
 * @param {{ file: string, path: string }} name @param {Test[]} tests
 * @param {(suite: string) => Set<string>} importers
 */
function look(name, tests, importers) {
  const files = name.file.endsWith('.test.ts') ? new Set([name.file]) : importers(name.file)
  if (files.size === 0) return 'is in no test file or shared suite'
  const covered = tests.filter((test) => files.has(test.file) && ` › ${test.path} › `.includes(` › ${name.path} › `))
  if (covered.length === 0) return 'does not exist'
  if (covered.some((test) => test.status === 'failed')) return 'failed'
  return covered.every((test) => test.status === 'passed') ? 'passed' : 'skipped'
}

/** Which test files import a suite, directly or through others. @param {string} folder @param {Set<string>} testFiles */
function suiteImporters(folder, testFiles) {
  /** @type {Map<string, string[]>} */
  const imports = new Map()
  /** @param {string} file @param {Set<string>} seen */
  const reach = (file, seen) => {
    if (seen.has(file)) return seen
    seen.add(file)
    let known = imports.get(file)
    if (!known) imports.set(file, (known = importsOf(folder, file)))
    for (const next of known) reach(next, seen)
    return seen
  }
  const reached = [...testFiles].map((file) => ({ file, all: reach(file, new Set()) }))
  return (/** @type {string} */ suite) => new Set(reached.filter(({ all }) => all.has(suite)).map(({ file }) => file))
}

/** @param {string} folder @param {string} file */
function importsOf(folder, file) {
  const path = join(folder, file)
  if (!fs.existsSync(path)) return []
  const found = fs.readFileSync(path, 'utf8').matchAll(/(?:from|import)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g)
  return [...found].map((match) => relative(folder, resolve(dirname(path), match[1] ?? '')))
}

/** @param {Row} row @param {string} folder */
function decisionComplaints(row, folder) {
  const links = [...`${row.rule} ${row.test} ${row.status}`.matchAll(/decisions\/([\w.-]+\.md)/g)]
  if (links.length === 0) return ['deviates but links no docs/decisions/*.md']
  return links
    .filter((link) => !fs.existsSync(join(folder, 'docs/decisions', link[1] ?? '')))
    .map((link) => `links docs/decisions/${link[1]}, which does not exist`)
}

/** @param {Verdict} verdict */
export function printConformance({ rows, done, later, deviations, unchecked, offending }) {
  for (const line of offending) console.log(`  ${line}`)
  const parts = [`${done} done`, `${later} later`, `${deviations} deviations`]
  if (unchecked > 0) parts.push(`${unchecked} not checked, their tests were skipped`)
  console.log(`${rows} rows: ${parts.join(', ')}; ${offending.length} offending`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const reportFile = process.argv[2] ?? join(root, '.test/report.json')
  if (!fs.existsSync(reportFile)) {
    console.error(`There is no report ${relative(process.cwd(), reportFile)}: run npm test first.`)
    process.exit(2)
  }
  const verdict = checkConformance({ report: JSON.parse(fs.readFileSync(reportFile, 'utf8')) })
  printConformance(verdict)
  process.exitCode = verdict.offending.length > 0 ? 1 : 0
}
