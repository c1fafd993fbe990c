/** docs/api.md: its commands are run against a server and print what it says. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { root } from '../cli/petrel.ts'
import { serveOn } from '../server/serving.ts'
import { runPage } from './blocks.ts'

const page = readFileSync(join(root, 'docs/api.md'), 'utf8')
const missing = ['bash', 'curl', 'jq'].filter((tool) => spawnSync(tool, ['--version']).status !== 0)

describe('docs/api.md', () => {
  it.skipIf(missing.length > 0)(
    'shows commands that print what it says',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'petrel-docs-'))
      const url = `sqlite:${join(folder, 'petrel.db')}`
      const { server, engine, store } = await serveOn(url)
      try {
        await runPage(page, {
          replace: { 'http://127.0.0.1:7070': server.url.replace('localhost', '127.0.0.1') },
          cwd: folder,
        })
      } finally {
        await server.close({ graceMs: 500 })
        await engine.close()
        await store.close()
        rmSync(folder, { recursive: true, force: true })
      }
    },
    60_000,
  )
})
