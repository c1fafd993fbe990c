/** docs/why.md: its commands are run against a server and print what it says. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, it } from 'vitest'
import { buildIfStale } from '../../scripts/setup.mjs'
import { root } from '../cli/petrel.ts'
import { serveOn } from '../server/serving.ts'
import { runPage } from './blocks.ts'

const page = readFileSync(join(root, 'docs/why.md'), 'utf8')
const missing = ['bash', 'curl', 'jq'].filter((tool) => spawnSync(tool, ['--version']).status !== 0)

describe('docs/why.md', () => {
  beforeAll(() => buildIfStale(), 120_000)

  it.skipIf(missing.length > 0)(
    'shows commands that print what it says',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'petrel-docs-'))
      const url = `sqlite:${join(folder, 'petrel.db')}`
      const { server, engine, store } = await serveOn(url)
      try {
        await runPage(page, {
          replace: { 'http://127.0.0.1:7070': server.url.replace('localhost', '127.0.0.1') },
          env: { PATH: `${join(root, 'bin')}:${process.env['PATH']}`, PETREL_STORE: url },
          cwd: folder,
        })
      } finally {
        await server.close({ graceMs: 500 })
        await engine.close()
        await store.close()
        rmSync(folder, { recursive: true, force: true })
      }
    },
    120_000,
  )
})
