/**
 * The walkthrough of docs/operate: a night with many failed orders. Ten thousand in the full run, fewer otherwise.
 * It starts, kills and restarts a server of its own.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildIfStale } from '../../scripts/setup.mjs'
import { root } from '../cli/petrel.ts'
import { runPage } from './blocks.ts'

const PAGE = readFileSync(join(root, 'docs/operate/README.md'), 'utf8')
const FEWER: { readonly [count: string]: string } = { 6000: '40', 3000: '30', 1000: '400' }
const missing = ['bash', 'curl', 'jq'].filter((tool) => spawnSync(tool, ['--version']).status !== 0)

describe('docs/operate/README.md', () => {
  beforeAll(() => buildIfStale(), 120_000)

  it('lists every page of its folder', () => {
    const pages = readdirSync(join(root, 'docs/operate')).filter((name) => name !== 'README.md')
    const listed = [...PAGE.matchAll(/^\| \[([a-z-]+\.md)\]/gm)].map(([, name]) => name)
    expect(listed.toSorted()).toEqual(pages.toSorted())
  })

  it.skipIf(missing.length > 0)(
    'the walkthrough works as documented',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'petrel-operate-'))
      const full = process.env['PETREL_TEST_FULL'] !== undefined
      const page = full ? PAGE : PAGE.replace(/\b(?:6000|3000|1000)\b/g, (count) => FEWER[count] as string)
      try {
        for (const [, name, text] of page.matchAll(/<!-- file: (\S+) -->\n```js\n([\s\S]*?)```/g)) {
          writeFileSync(join(folder, name as string), text as string)
        }
        mkdirSync(join(folder, 'node_modules'))
        symlinkSync(root, join(folder, 'node_modules', 'petrel'))
        await runPage(page, {
          replace: { 7081: String(await freePort()) },
          env: {
            PATH: `${join(root, 'bin')}:${process.env['PATH']}`,
            PETREL_STORE: `sqlite:${join(folder, 'petrel.db')}`,
            NO_COLOR: '1',
          },
          cwd: folder,
        })
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
    900_000,
  )
})

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { readonly port: number }
      server.close(() => resolve(port))
    })
  })
}
