/** docs/nats.md with a separate NATS: its service and engine are processes, and its shell talks to them. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildIfStale } from '../../scripts/setup.mjs'
import { root } from '../cli/petrel.ts'
import { OwnNats } from '../nats/server.ts'
import { natsUrl } from '../services.ts'
import { runPage } from './blocks.ts'

const missing = ['bash', 'jq'].filter((tool) => spawnSync(tool, ['--version']).status !== 0)
const LANGUAGES = '(?:yaml|js|sh)'

describe.skipIf(missing.length > 0 || natsUrl() === null)('docs/nats.md', () => {
  beforeAll(() => buildIfStale(), 120_000)

  it('its files and commands work as documented', { timeout: 120_000 }, async () => {
    const nats = await OwnNats.start()
    const folder = mkdtempSync(join(tmpdir(), 'petrel-docs-'))
    const local = (text: string) =>
      text.replaceAll('127.0.0.1:4222', `127.0.0.1:${nats.port}`).replaceAll('127.0.0.1/4222', `127.0.0.1/${nats.port}`)
    try {
      const page = local(readFileSync(join(root, 'docs/nats.md'), 'utf8'))
      linkPackages(folder)
      writeFiles(page, folder)
      // Processes started by a block that failed end with its shell.
      writeFileSync(join(folder, 'leave'), `trap 'kill $(jobs -p) 2> /dev/null' EXIT`)
      await runPage(page, {
        replace: {},
        env: {
          PATH: `${join(root, 'bin')}:${process.env['PATH']}`,
          PETREL_STORE: `sqlite:${join(folder, 'petrel.db')}`,
          BASH_ENV: join(folder, 'leave'),
          NO_COLOR: '1',
        },
        cwd: folder,
      })
    } finally {
      await nats.drop()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

/** As after `npm install petrel`. */
function linkPackages(folder: string): void {
  mkdirSync(join(folder, 'node_modules'))
  for (const name of ['@nats-io', '@photostructure']) {
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  symlinkSync(root, join(folder, 'node_modules/petrel'))
  expect(readdirSync(join(folder, 'node_modules'))).toHaveLength(3)
}

function writeFiles(page: string, folder: string): void {
  const pattern = new RegExp(`<!-- file: (\\S+) -->\\n\`\`\`${LANGUAGES}\\n([\\s\\S]*?)\`\`\``, 'g')
  const files = [...page.matchAll(pattern)]
  expect(files).toHaveLength(page.match(/<!-- file: /g)?.length ?? 0)
  for (const [, name, text] of files) writeFileSync(join(folder, name as string), text as string)
}
