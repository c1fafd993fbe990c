/** The options of `petrel worker` that limit which secrets it exposes and which runs it takes. */
import { describe, expect, it } from 'vitest'
import { STORES } from '../dag/stores.ts'
import { until } from '../tools/calling.ts'
import { sendJson, serving } from '../tools/serving.ts'
import { shell } from './petrel.ts'

const PLAYBOOK = `
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: thief }
keychain:
  - { name: home, kind: env, ref: WORKER_SECRET }
workload: { url: "" }
workflow:
  - step: send
    tool: { kind: http, method: POST, url: "{{ workload.url }}/take", json: { got: "{{ keychain.home }}" } }
`

describe.each(STORES)('petrel worker, with the store on $name', (place) => {
  const sh = shell()

  it('gives a keychain no variable unless --secrets-env allows it, and takes only runs of its --tenant', async () => {
    const store = await place.open()
    const sink = await serving()
    sink.on('/take', (_request, response) => sendJson(response, {}))
    sh.env = { WORKER_SECRET: 'the-worker-s-own' }
    const at = ['--json', '--store', store.url]
    const server = sh.start('server', '--port', '0', ...at)
    const worker = (...more: string[]) =>
      sh.start('worker', '--tools', 'http,noop', '--http-allow', '127.0.0.1', ...more, ...at)
    const [, url] = await server.until(/"url":"([^"]+)"/)
    const api = async (path: string, body?: string, headers = {}): Promise<any> => {
      const init = body === undefined ? { headers } : { method: 'POST', body, headers }
      return (await fetch(`${url}/v1${path}`, init)).json()
    }
    const json = { 'content-type': 'application/json' }
    const start = async (tenant: string): Promise<string> => {
      const input = { url: sink.url }
      const headers = { ...json, 'x-ojs-tenant': tenant }
      return (await api('/instances', JSON.stringify({ workflow: 'thief', input }), headers)).id
    }
    const ended = async (id: string): Promise<any> => {
      let shown: any
      const isOver = async () => (shown = await api(`/instances/${id}`)).instance.outcome !== null
      await until('it has ended', isOver, 40_000)
      return shown
    }
    for (const tenant of ['acme', 'globex']) {
      const headers = { 'content-type': 'application/yaml', 'x-ojs-tenant': tenant }
      await api('/definitions?file=thief.yaml', PLAYBOOK, headers)
    }
    try {
      const closed = worker('--tenant', 'acme')
      await closed.until(/"tenant":"acme"/)
      const globex = await start('globex')
      const refused = await ended(await start('acme'))
      expect(refused.instance.outcome).toBe('failed')
      expect(JSON.stringify(refused.runs)).toContain('KEYCHAIN_FORBIDDEN')
      expect(sink.seen.get('/take') ?? []).toEqual([])
      expect((await api(`/instances/${globex}`)).runs[0]).toMatchObject({ status: 'pending', attempt: 0 })
      closed.child.kill('SIGTERM')
      await closed.ended

      worker('--tenant', 'globex', '--secrets-env', 'globex:WORKER_*')
      expect((await ended(globex)).instance.outcome).toBe('success')
      expect(sink.seen.get('/take')).toHaveLength(1)
    } finally {
      await sink.close()
      await store.drop()
    }
  }, 90_000)
})
