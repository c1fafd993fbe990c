import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkConformance } from '../scripts/check-conformance.mjs'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'petrel-conformance-'))
  write('docs/decisions/001-ours.md', '')
  write('test/suite.ts', '')
  write('test/sqlite.test.ts', "import { suite } from './suite.ts'")
  write('test/postgres.test.ts', "import { suite } from './suite.ts'")
})

afterEach(() => rmSync(folder, { recursive: true }))

describe('a conformance row', () => {
  it.each([
    ['done, its test passed', '`test/sqlite.test.ts › claims › by priority`', 'done'],
    ['done, named without its group', '`test/sqlite.test.ts › by priority`', 'done'],
    ['done, the test is of a shared suite', '`test/suite.ts › claims › by priority`', 'done'],
    ['done, several tests, a bar in a name', '`test/suite.ts › by priority` and `test/suite.ts › a \\| b`', 'done'],
    ['later', '', 'later (0.2.0)'],
    ['a deviation with its record', '', 'deviation ([001](../decisions/001-ours.md))'],
  ])('holds when %s', (_, test, status) => {
    expect(check(test, status)).toEqual([])
  })

  it.each([
    ['names no test', '', 'done', 'names no'],
    ['names a test that does not exist', '`test/suite.ts › nope`', 'done', 'does not exist'],
    ['names a part of a title', '`test/suite.ts › by`', 'done', 'does not exist'],
    ['names an unknown file', '`test/nope.test.ts › by priority`', 'done', 'does not exist'],
    ['names a suite that is not run', '`test/other.ts › by priority`', 'done', 'in no test file'],
    ['names a test that failed on one of the stores', '`test/suite.ts › broken`', 'done', 'failed'],
    ['names a skipped test', '`test/suite.ts › left out`', 'done', 'skipped'],
    ['names a group with a failed test', '`test/suite.ts › claims`', 'done', 'failed'],
    ['deviates without a record', '', 'deviation', 'links no'],
    ['deviates with a missing record', '', 'deviation ([2](../decisions/002-gone.md))', 'does not exist'],
    ['is later, without a release', '', 'later', 'unknown status'],
    ['has a cell too many', ' | ', 'done', 'cells'],
  ])('offends when it %s', (_, test, status, complaint) => {
    expect(check(test, status)).toEqual([expect.stringContaining(complaint)])
  })

  it('is left unchecked when its test was skipped because a service is missing', () => {
    expect(check('`test/suite.ts › left out`', 'done', true)).toEqual([])
  })
})

function check(test: string, status: string, allowSkipped = false): string[] {
  write(
    'docs/conformance/playbook.md',
    `| § | rule | test | status |\n|---|---|---|---|\n| 1 | x | ${test} | ${status} |\n`,
  )
  const report = { testResults: [results('sqlite', 'passed'), results('postgres', 'failed')] }
  return checkConformance({ report, allowSkipped, folder }).offending
}

function results(store: string, broken: string): unknown {
  const test = (title: string, status: string) => ({ ancestorTitles: [store, 'claims'], title, status })
  return {
    name: join(folder, `test/${store}.test.ts`),
    assertionResults: [
      test('by priority', 'passed'),
      test('a | b', 'passed'),
      test('broken', broken),
      test('left out', 'skipped'),
    ],
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}
