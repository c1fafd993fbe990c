/** The program on docs/operate/going-back.md prints what is documented. Its commands are run by pages.test.ts. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import { buildIfStale } from '../../scripts/setup.mjs'
import { root } from '../cli/petrel.ts'

const PAGE = readFileSync(join(root, 'docs/operate/going-back.md'), 'utf8')

beforeAll(() => buildIfStale(), 120_000)

it('the program prints the documented output', { timeout: 60_000 }, () => {
  const [, code = '', printed] = /<!-- program -->\n```js\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/.exec(PAGE) ?? []
  expect(PAGE.match(/^```js$/gm)).toHaveLength(1)
  const folder = mkdtempSync(join(root, '.test-sdk-'))
  try {
    const file = join(folder, 'example.mjs')
    writeFileSync(file, code.replace("'petrel'", `'${pathToFileURL(join(root, 'dist/index.js')).href}'`))
    const run = spawnSync(process.execPath, [file], { encoding: 'utf8', timeout: 50_000 })
    expect(run.stderr).toBe('')
    expect(run.stdout).toBe(printed)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
