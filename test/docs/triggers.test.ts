/** docs/triggers.md: its files are written, its commands are run and print what it says. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildIfStale } from '../../scripts/setup.mjs'
import { root } from '../cli/petrel.ts'
import { runPage } from './blocks.ts'

const page = readFileSync(join(root, 'docs/triggers.md'), 'utf8')
const missing = ['bash', 'sed'].filter((tool) => spawnSync(tool, ['--version']).status !== 0)

describe('docs/triggers.md', () => {
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
        const commands = ['deploy', 'start', 'event', 'definitions']
        await runPage(page, {
          // Not `petrel start` as it stands in backquotes: only at the beginning of a line, or behind a pipe.
          replace: Object.fromEntries(commands.map((c) => [`\npetrel ${c} `, `\n${petrel} ${c} `])),
          env: { PETREL_STORE: `sqlite:${join(folder, 'petrel.db')}`, NO_COLOR: '1' },
          cwd: folder,
        })
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
    120_000,
  )
})
