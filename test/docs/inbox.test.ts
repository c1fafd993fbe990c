/** docs/inbox.md: its commands are run against a server on Postgres, and print the documented output. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../cli/petrel.ts'
import { serveOn } from '../server/serving.ts'
import { freshDatabase, postgresUrl } from '../services.ts'
import { runPage } from './blocks.ts'

const page = readFileSync(join(root, 'docs/inbox.md'), 'utf8')
const missing = ['bash', 'curl', 'jq', 'psql'].filter((tool) => spawnSync(tool, ['--version']).status !== 0)

describe('docs/inbox.md', () => {
  it.skipIf(missing.length > 0 || postgresUrl() === null)(
    'shows commands that print the documented output, and names existing metrics',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'petrel-docs-'))
      const database = await freshDatabase()
      const { server, engine, store } = await serveOn(database.url)
      const role = `docs_${process.pid}`
      try {
        await runPage(page, {
          replace: {
            'http://127.0.0.1:7070': server.url,
            'postgres://localhost/app': database.url,
            'petrel grants worker': `${process.execPath} ${join(root, 'bin/petrel')} grants ${role}`,
            'role worker': `role ${role}`,
            'claim.sql': join(folder, 'claim.sql'),
            'run.txt': join(folder, 'run.txt'),
          },
        })
        const metrics = await (await fetch(`${server.url}/metrics`)).text()
        const names = [...page.matchAll(/`(workflow_(?:run|worker)_\w+)`/g)].map(([, name]) => name)
        expect(names.length).toBeGreaterThan(9)
        for (const name of names) expect(metrics).toContain(`# HELP ${name} `)
      } finally {
        await server.close({ graceMs: 500 })
        await engine.close()
        await store.close()
        spawnSync('psql', [database.url, '-c', `DROP OWNED BY ${role}; DROP ROLE IF EXISTS ${role}`])
        await database.drop()
        rmSync(folder, { recursive: true, force: true })
      }
    },
    60_000,
  )
})
