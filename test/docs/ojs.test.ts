/** docs/ojs.md: its commands are run against a server and print what it says; its table of errors is the server's. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { OJS_WORDS, WIRE_ERRORS, type WireCode } from '../../src/server/error-table.ts'
import { root } from '../cli/petrel.ts'
import { serveOn } from '../server/serving.ts'
import { runPage } from './blocks.ts'

const page = readFileSync(join(root, 'docs/ojs.md'), 'utf8')
const missing = ['bash', 'curl', 'jq'].filter((tool) => spawnSync(tool, ['--version']).status !== 0)

describe('docs/ojs.md', () => {
  it.skipIf(missing.length > 0)(
    'shows commands that print what it says',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'petrel-docs-'))
      const { server, engine, store } = await serveOn(`sqlite:${join(folder, 'petrel.db')}`)
      try {
        await runPage(page, { replace: { 'http://127.0.0.1:7070': server.url } })
      } finally {
        await server.close({ graceMs: 500 })
        await engine.close()
        await store.close()
        rmSync(folder, { recursive: true, force: true })
      }
    },
    60_000,
  )

  it('lists every error of /ojs with its status', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)].map(([, code, status]) => [code, Number(status)])
    const served = Object.entries(WIRE_ERRORS)
      .filter(([code]) => OJS_WORDS[code as WireCode] === undefined)
      // The engine's own words of /v1, and a kind of invalid_request.
      .filter(([code]) => code !== 'validation_error')
      .map(([code, { status }]) => [code, status])
    expect(rows.sort()).toEqual(served.sort())
  })

  it('and the pages around it point only to files that exist', () => {
    const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
    for (const name of pages) {
      const text = readFileSync(join(root, 'docs', name), 'utf8')
      for (const [, target] of text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
        expect([name, target, existsSync(join(root, 'docs', target as string))]).toEqual([name, target, true])
      }
    }
  })
})
