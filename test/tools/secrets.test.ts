/**
 * Secrets of playbooks, with a real server and a real worker: from the environment and from files they reach the tools
 * that name them, and nothing else. The test searches every row of the store, every reply of the API and both logs,
 * while services, code and databases try to reveal them.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase, prepareArrays } from '../../src/store/sqlite/driver.ts'
import { shell } from '../cli/petrel.ts'
import { STORES } from '../dag/stores.ts'
import { freshDatabase, postgresUrl } from '../services.ts'
import { until } from './calling.ts'
import { type Serving, sendJson, serving } from './serving.ts'

const SECRETS = {
  env: 'env/tok+en "quoted" 4711',
  file: 'file-pässword & more',
  variable: 'v4riable:credential=0815',
  entry: '3ntry of the credentials f1le',
}

/** Every kind of tool, and every way in which it could reveal its input. */
const PLAYBOOK = `
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: indiscreet }
executor: { spec: { final_step: report, policy: { failed_on: any } } }
keychain:
  - { name: api, kind: env, map: { token: API_TOKEN } }
  - { name: db, kind: file, ref: db.json }
workload: { url: "", long: "" }
workflow:
  - step: http
    tool:
      - { name: keychain_task, kind: http, url: "{{ workload.url }}/echo?t={{ keychain.api.token }}", auth: { username: u, password: "{{ keychain.db.password }}" } }
      - { name: variable, kind: http, url: "{{ workload.url }}/echo", auth: by-variable, set: { ctx.heard: "{{ output.data.authorization }}" } }
      - { name: entry, kind: http, url: "{{ workload.url }}/echo", auth: by_file }
      - { name: all, kind: noop, result: ["{{ keychain_task }}", "{{ variable }}", "{{ entry }}"] }
    next: { arcs: [{ step: python, args: { heard: "{{ http }}" } }] }
  - step: python
    tool: { kind: python, input: { pw: "{{ keychain.db.password }}", long: "{{ workload.long }}" }, code: "print(pw)\\nraise ValueError(long + pw)" }
    next: { arcs: [{ step: javascript }] }
  - step: javascript
    tool: { kind: javascript, env: { PW: "{{ keychain.db.password }}" }, code: "console.error(process.env.PW); throw new Error(JSON.stringify(process.env))" }
    next: { arcs: [{ step: shell }] }
  - step: shell
    tool:
      - name: cut
        kind: shell
        env: { PW: "{{ keychain.db.password }}", LONG: "{{ workload.long }}" }
        cmd: 'printf "%s" "$LONG$PW" >&2; printf "%s" "$PW" | base64; exit 3'
        spec: { policy: { rules: [{ else: { then: { do: continue } } }] } }
      - { name: said, kind: shell, cmd: 'echo {{ keychain.db.password | tojson }} >&2; exit 4' }
    next: { arcs: [{ step: refused }] }
  - step: refused
    tool: { kind: http, url: "{{ workload.url }}/refuse", auth: by-variable }
    next: { arcs: [{ step: mistaken }] }
  - step: mistaken
    tool: { kind: http, url: "{{ workload.url }}/echo", auth: "{{ keychain.api.token }}" }
    next: { arcs: [{ step: postgres }] }
  - step: postgres
    tool: { kind: postgres, auth: pg_main, query: "SELECT :pw AS pw, '{{ keychain.db.password }}'::int", params: { pw: "{{ keychain.db.password }}" } }
  - step: report
    tool: { kind: noop, result: "{{ args }}" }
`

describe.each(STORES)('secrets, with the store on $name', (place) => {
  const sh = shell()
  let echo: Serving
  let store: Awaited<ReturnType<typeof place.open>>
  let database: Awaited<ReturnType<typeof freshDatabase>> | null = null
  const processes: ReturnType<typeof sh.start>[] = []

  beforeAll(async () => {
    store = await place.open()
    database = postgresUrl() === null ? null : await freshDatabase()
    echo = await serving()
    echo.on('/echo', (request, response) => sendJson(response, { ...request.headers, asked: request.url }))
    echo.on('/refuse', (request, response) => sendJson(response, { no: request.headers.authorization }, 403))
    sh.write('db.json', JSON.stringify({ password: SECRETS.file }))
    sh.write('credentials.yaml', JSON.stringify({ by_file: { type: 'header', name: 'X-Key', value: SECRETS.entry } }))
  })
  afterAll(async () => {
    for (const { child, ended } of processes) {
      child.kill('SIGTERM')
      await ended
    }
    await echo.close()
    await store.drop()
    await database?.drop()
  })

  it('reach the tools, and no row, answer or log', async () => {
    sh.env = {
      PETREL_LOG: 'trace',
      API_TOKEN: SECRETS.env,
      PETREL_CREDENTIAL_BY_VARIABLE: SECRETS.variable,
      PETREL_CREDENTIALS_FILE: 'credentials.yaml',
      PETREL_CREDENTIAL_PG_MAIN: database?.url ?? 'postgres://u:p@127.0.0.1:1/x',
    }
    const server = sh.start('server', '--port', '0', '--json', '--store', store.url)
    const secrets = ['--secrets-env', 'API_*', '--secrets-dir', '.']
    const worker = sh.start(
      'worker',
      '--tools',
      '--http-allow',
      '127.0.0.1',
      ...secrets,
      '--json',
      '--store',
      store.url,
    )
    processes.push(server, worker)
    const [, url] = await server.until(/"url":"([^"]+)"/)
    const api = async (path: string, body?: string, type = 'application/json'): Promise<any> => {
      const init = body === undefined ? {} : { method: 'POST', body, headers: { 'content-type': type } }
      const answer = await fetch(`${url}/v1${path}`, init)
      const text = await answer.text()
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
      return JSON.parse(text)
    }
    await api('/definitions?file=indiscreet.yaml', PLAYBOOK, 'application/yaml')
    // Long enough that messages are truncated in the middle of the secret after it.
    const input = { url: echo.url, long: 'x'.repeat(1975) }
    const { id } = await api('/instances', JSON.stringify({ workflow: 'indiscreet', input }))
    let shown: any
    await until(
      'it has ended',
      async () => {
        shown = await api(`/instances/${id}`)
        return shown.instance.outcome !== null
      },
      40_000,
    )
    expect(shown.instance.outcome).toBe('failed')

    // The tools received them.
    const heard = echo.seen.get('/echo')!.map(({ headers }) => [headers.authorization, headers['x-key']])
    expect(heard).toEqual([
      [`Basic ${Buffer.from(`u:${SECRETS.file}`).toString('base64')}`, undefined],
      [`Bearer ${SECRETS.variable}`, undefined],
      [undefined, SECRETS.entry],
    ])

    const answers = [
      shown,
      ...(await Promise.all(
        ['/events?limit=1000', '/steps', '/why', '/net'].map((path) => api(`/instances/${id}${path}`)),
      )),
      ...(await Promise.all(
        shown.runs.flatMap(({ id: run }: { readonly id: string }) => [api(`/runs/${run}`), api(`/runs/${run}/events`)]),
      )),
      await api('/instances'),
      await api('/definitions/indiscreet'),
      await (await fetch(`${url}/metrics`)).text(),
    ]
    const rows = await dump(store.url)
    const logs = [server.out, server.err, worker.out, worker.err]
    const everything = { answers: JSON.stringify(answers), rows, logs: logs.join('\n') }
    // Secrets were removed there, and the searched text is not empty.
    expect(everything.answers).toContain('***')
    expect(everything.rows).toContain('***')
    expect(everything.logs).toContain('python printed')
    const found: string[] = []
    for (const [where, text] of Object.entries(everything)) {
      for (const [name, secret] of Object.entries(SECRETS)) {
        for (const form of formsOf(secret))
          if (text.includes(form)) found.push(`${where}, ${name}: ${around(text, form)}`)
      }
    }
    expect(found).toEqual([])
  }, 60_000)
})

function formsOf(secret: string): readonly string[] {
  const escaped = JSON.stringify(secret).slice(1, -1)
  const base64 = Buffer.from(secret).toString('base64')
  // Halves, as truncation would leave them.
  return [secret, escaped, encodeURIComponent(secret), base64.slice(0, -4), secret.slice(0, 8), secret.slice(-8)]
}

function around(text: string, form: string): string {
  const at = text.indexOf(form)
  return text.slice(Math.max(0, at - 80), at + form.length + 20)
}

/** All rows of all tables, as text. */
async function dump(url: string): Promise<string> {
  if (url.startsWith('sqlite:')) {
    const database = await openDatabase(url.slice('sqlite:'.length))
    const all = (sql: string) => prepareArrays(database, sql).all()
    const tables = all("SELECT name FROM sqlite_master WHERE type = 'table'")
    const rows = tables.map(([name]) => JSON.stringify(all(`SELECT * FROM "${name}"`)))
    database.close()
    return rows.join('\n')
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows: tables } = await client.query(
    "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
  )
  const texts: string[] = []
  for (const { name } of tables) {
    const { rows } = await client.query(`SELECT to_json(t)::text AS row FROM ${name} t`)
    texts.push(...rows.map(({ row }: { readonly row: string }) => row))
  }
  await client.end()
  return texts.join('\n')
}
