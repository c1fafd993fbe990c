/** docs/dag.md: its files are written, its commands are run and print what it says. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildIfStale } from '../../scripts/setup.mjs'
import { root } from '../cli/petrel.ts'
import { runPage } from './blocks.ts'

const page = readFileSync(join(root, 'docs/dag.md'), 'utf8')
const missing = ['bash', 'jq'].filter((tool) => spawnSync(tool, ['--version']).status !== 0)

describe('docs/dag.md', () => {
  beforeAll(() => buildIfStale(), 120_000)

  it.skipIf(missing.length > 0)(
    'shows files and commands that do what it says',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'petrel-docs-'))
      try {
        const files = [...page.matchAll(/<!-- file: (\S+) -->\n```yaml\n([\s\S]*?)```/g)]
        expect(files).toHaveLength(page.match(/<!-- file: /g)?.length ?? 0)
        for (const [, name, text] of files) writeFileSync(join(folder, name as string), text as string)
        const petrel = `${process.execPath} ${join(root, 'bin/petrel')}`
        await runPage(page, {
          replace: { 'petrel check': `${petrel} check`, 'petrel run': `${petrel} run` },
          cwd: folder,
        })
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
    60_000,
  )
})
