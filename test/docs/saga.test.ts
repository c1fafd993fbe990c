import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildIfStale } from '../../scripts/setup.mjs'
import { root } from '../cli/petrel.ts'
import { natsUrl } from '../services.ts'

describe('docs/saga.md', () => {
  beforeAll(() => buildIfStale(), 120_000)

  it.skipIf(natsUrl() === null)('the TypeScript example is the file it names, and prints the documented output', () => {
    const page = readFileSync(join(root, 'docs/saga.md'), 'utf8')
    const found = /<!-- example: (\S+) -->\n```js\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/.exec(page)
    const [, file = '', code = '', printed = ''] = found ?? []
    const path = join(root, file)
    expect(readFileSync(path, 'utf8').endsWith(code)).toBe(true)
    const args = ['sqlite::memory:', natsUrl() as string, `docs-${process.pid}`]
    const run = spawnSync(process.execPath, [path, ...args], { encoding: 'utf8', timeout: 60_000 })
    expect(run.stderr).toBe('')
    expect(run.stdout.replace(/workflow [0-9a-f-]{36}/, 'workflow ID')).toBe(printed)
  })
})
