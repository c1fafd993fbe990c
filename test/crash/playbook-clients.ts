/**
 * Clients over HTTP that deploy and start playbooks, approve, and wait. A request without an answer is repeated, as by
 * any client.
 */
import { expect } from 'vitest'
import { type Asking, type Reply, request } from '../server/serving.ts'
import type { Ledger } from './playbook-ledger.ts'
import { EXPECTED, playbookTexts, SLOW } from './playbook-workloads.ts'

const OPEN = 'idle,queued,running,waiting,cancelling,compensating'

export interface Started {
  readonly id: string
  /** From its playbook. */
  readonly name: string
}

export class Clients {
  readonly started: Started[] = []
  readonly #ledger: Ledger
  /** The address of the running server; null: none is running. */
  url: string | null = null
  /** Number of requests that were never answered. */
  unanswered = 0

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  async deploy(): Promise<void> {
    const headers = { 'content-type': 'application/yaml' }
    for (const body of playbookTexts()) await this.#ask([200, 201], 'POST', '/v1/definitions', { headers, body })
  }

  /**
   * One execution of each, slow ones only if requested: started, approved, and all but the slow ones followed to their
   * end.
   */
  async wave(wave: string, { slow }: { readonly slow: boolean }): Promise<void> {
    const names = Object.keys(EXPECTED).filter((name) => slow || !SLOW.has(name))
    const started = await Promise.all(names.map((name) => this.#start(`${wave}/${name}`, name)))
    this.started.push(...started)
    await this.#approve(started.find(({ name }) => name === 'gate')!.id)
    await this.#ended(started.filter(({ name }) => !SLOW.has(name)))
  }

  /** Waits until everything has ended, including executions without a waiting client. */
  async finish(): Promise<void> {
    while ((await this.#in(`${OPEN}&all=true`)).size > 0) await pause()
  }

  async get(path: string): Promise<any> {
    return (await this.#ask([200], 'GET', path)).body
  }

  /** With a start key a repeated request has no further effect. */
  async #start(key: string, name: string): Promise<Started> {
    const body = { workflow: name, start_key: key, input: { ledger: this.#ledger.url } }
    const reply = await this.#ask([200, 201], 'POST', '/v1/instances', { body })
    return { id: reply.body.id, name }
  }

  /** Approves once the token is held, and a second time: an approval whose answer was lost is sent again. */
  async #approve(id: string): Promise<void> {
    while (!(await this.#in('waiting')).has(id)) await pause()
    const body = { set: { approved: true } }
    for (const statuses of [[200], [200, 409]]) {
      const before = this.unanswered
      const reply = await this.#ask([200, 409], 'PATCH', `/v1/instances/${id}/context`, { body })
      // 409: the execution has ended since, because of an approval whose answer was lost.
      if (this.unanswered === before) expect(statuses, reply.text).toContain(reply.status)
    }
  }

  async #ended(started: readonly Started[]): Promise<void> {
    for (;;) {
      const open = await this.#in(OPEN)
      if (!started.some(({ id }) => open.has(id))) return
      await pause()
    }
  }

  async #in(states: string): Promise<ReadonlySet<string>> {
    const { instances } = await this.get(`/v1/instances?limit=200&state=${states}`)
    return new Set(instances.map(({ id }: Started) => id))
  }

  async #ask(statuses: readonly number[], method: string, path: string, asking: Asking = {}): Promise<Reply> {
    for (;;) {
      const reply = await this.#once(method, path, asking)
      if (reply === null) {
        await pause()
        continue
      }
      expect(statuses, `${method} ${path}: ${reply.text}`).toContain(reply.status)
      return reply
    }
  }

  /** null: the server is not reachable. */
  async #once(method: string, path: string, asking: Asking): Promise<Reply | null> {
    if (this.url === null) return null
    try {
      return await request(this.url + path, method, asking)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      this.unanswered++
      return null
    }
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 75))
}
