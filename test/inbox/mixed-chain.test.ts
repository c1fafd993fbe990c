/**
 * One chain, its steps executed in turn by a TypeScript worker, the Python client and hand-written SQL, each
 * independent of the others.
 */
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root, shell } from '../cli/petrel.ts'
import { client, until } from '../server/serving.ts'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../services.ts'
import { Foreign } from './foreign.ts'

const python = ['python3', '/usr/bin/python3'].find(
  (command) => spawnSync(command, ['-c', 'import psycopg2'], { stdio: 'ignore' }).status === 0,
)
const sh = shell()

const PYTHON_WORKER = `
import sys
from petrel_client import Client, Worker

worker = Worker(Client(sys.argv[1]), "python-1", poll_seconds=1)

@worker.handler("price.%")
def price(run):
    return {"order": run.payload[0], "total": 42, "by": "python"}

worker.run()
`

describe.skipIf(postgresUrl() === null || python === undefined)('a chain with workers of three kinds', () => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database.drop())

  for (const road of ['by SQL', 'over HTTP'] as const) {
    it(`is executed by TypeScript, Python ${road} and hand-written SQL in turn`, async () => {
      const server = sh.start('server', '--json', '--port', '0', '--store', database.url)
      const [, url] = (await server.until(/"url":"([^"]+)"/)) as unknown as [string, string]
      const handlers = sh.write(
        'check.mjs',
        `export default { 'order.check': async ([order]) => ({ order, by: 'typescript' }) }`,
      )
      const typescript = sh.start('worker', '--store', database.url, '--handlers', handlers)
      const pythonWorker = spawn(python as string, ['-c', PYTHON_WORKER, road === 'by SQL' ? database.url : url], {
        env: { ...process.env, PYTHONPATH: join(root, 'clients/python/src'), PYTHONDONTWRITEBYTECODE: '1' },
        stdio: 'ignore',
      })
      const foreign = await Foreign.connect(database.url)
      try {
        const ojs = client(url)
        const steps = ['order.check', 'price.total', 'order.ship', 'price.bill'].map((type) => ({ type, args: [7] }))
        const { id } = (await ojs.post('/ojs/v1/workflows', { type: 'chain', steps })).body
        const ship = await until(
          () => foreign.claim('psql', 'order.ship'),
          (run) => run !== null,
          20_000,
        )
        await foreign.succeed(ship?.id as string, { by: 'sql' })
        const { body } = await until(
          () => ojs.get(`/ojs/v1/workflows/${id}`),
          (reply) => reply.body.state !== 'running',
          20_000,
        )
        expect(body.state).toBe('completed')
        const by = body.steps.map((step: { result: { by: string } }) => step.result.by)
        expect(by).toEqual(['typescript', 'python', 'sql', 'python'])
        // Each step at least once: a poll that a busy machine interrupts returns its runs.
        const recorded = await foreign.sql(
          `SELECT h.event_type, count(DISTINCT r.id)::int AS n FROM workflow_history h JOIN workflow_run r ON r.id = h.workflow_id
           WHERE r.instance_id = '${id}' AND h.event_type IN ('created', 'leased', 'started', 'succeeded') GROUP BY 1 ORDER BY 1`,
        )
        expect(recorded.rows).toEqual(
          ['created', 'leased', 'started', 'succeeded'].map((event_type) => ({ event_type, n: 4 })),
        )
        expect((await sh.petrel('doctor', '--store', database.url)).code).toBe(0)
      } finally {
        pythonWorker.kill('SIGKILL')
        await foreign.close()
        for (const one of [typescript, server]) {
          one.child.kill('SIGTERM')
          await one.ended
        }
      }
    }, 90_000)
  }
})
