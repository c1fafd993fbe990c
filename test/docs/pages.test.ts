/**
 * Pages with commands: their files are written, and their commands are run in order in one shell, in a directory with
 * its own store, and print the documented output. A page that calls a server over HTTP gets one on that store.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildIfStale } from '../../scripts/setup.mjs'
import { root } from '../cli/petrel.ts'
import { serveOn } from '../server/serving.ts'
import { runPage } from './blocks.ts'

const PAGES = [
  'api.md',
  'dag.md',
  'expressions.md',
  'gates.md',
  'ojs.md',
  'operate/bulk.md',
  'operate/errors.md',
  'operate/logs.md',
  'operate/search.md',
  'operate/queues.md',
  'operate/schedules.md',
  'operate/timeline.md',
  'operate/going-back.md',
  'operate/pausing.md',
  'playbook.md',
  'saga.md',
  'tools.md',
  'triggers.md',
  'why.md',
]
const SERVER = 'http://127.0.0.1:7070'
const missing = ['bash', 'curl', 'jq'].filter((tool) => spawnSync(tool, ['--version']).status !== 0)

describe.skipIf(missing.length > 0)('the commands of a page', () => {
  beforeAll(() => buildIfStale(), 120_000)

  it.each(PAGES)(
    'docs/%s: files and commands work as documented',
    async (name) => {
      const page = readFileSync(join(root, 'docs', name), 'utf8')
      const folder = mkdtempSync(join(tmpdir(), 'petrel-docs-'))
      const url = `sqlite:${join(folder, 'petrel.db')}`
      const served = page.includes(SERVER) ? await serveOn(url) : null
      try {
        writeFiles(page, folder)
        // Programs of the page import 'petrel' from here.
        mkdirSync(join(folder, 'node_modules'))
        symlinkSync(root, join(folder, 'node_modules', 'petrel'))
        await runPage(page, {
          replace: served === null ? {} : { [SERVER]: served.server.url },
          env: { PATH: `${join(root, 'bin')}:${process.env['PATH']}`, PETREL_STORE: url, NO_COLOR: '1' },
          cwd: folder,
        })
      } finally {
        await served?.server.close({ graceMs: 500 })
        await served?.engine.close()
        await served?.store.close()
        rmSync(folder, { recursive: true, force: true })
      }
    },
    120_000,
  )
})

function writeFiles(page: string, folder: string): void {
  const files = [...page.matchAll(/<!-- file: (\S+) -->\n```(?:yaml|js)\n([\s\S]*?)```/g)]
  expect(files).toHaveLength(page.match(/<!-- file: /g)?.length ?? 0)
  for (const [, name, text] of files) writeFileSync(join(folder, name as string), text as string)
}
