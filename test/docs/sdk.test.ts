import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildIfStale } from '../../scripts/setup.mjs'
import { root } from '../cli/petrel.ts'

const PAGE = readFileSync(join(root, 'docs/sdk.md'), 'utf8')
const EXAMPLES = [...PAGE.matchAll(/## (\w+)\n[^#]*?<!-- run -->\n```js\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/g)]

describe('docs/sdk.md', () => {
  beforeAll(() => buildIfStale(), 120_000)

  it('has an example for each part', () => {
    expect(EXAMPLES.map(([, part]) => part)).toEqual(['Operating', 'Testing'])
  })

  it.each(EXAMPLES.map(([, part, code, printed]) => ({ part, code, printed })))(
    '$part prints the documented output',
    ({ code = '', printed }) => {
      const folder = mkdtempSync(join(root, '.test-sdk-'))
      try {
        const file = join(folder, 'example.mjs')
        const built = (name: string): string => pathToFileURL(join(root, 'dist', name)).href
        const text = code.replace("'petrel'", `'${built('index.js')}'`)
        writeFileSync(file, text.replace("'petrel/testing'", `'${built('testing.js')}'`))
        const run = spawnSync(process.execPath, [file], { encoding: 'utf8', timeout: 60_000 })
        expect(run.stderr).toBe('')
        expect(run.stdout).toBe(printed)
      } finally {
        rmSync(folder, { recursive: true })
      }
    },
  )
})
