// @ts-check
/** A server process, the requests of a client, and the memory that the server uses. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { rssMb } from '../rss.mjs'
import { STEP } from './shapes.mjs'

const file = fileURLToPath(new URL('server.mjs', import.meta.url))
const SAMPLE_EVERY_MS = 50

export class Served {
  #child
  #url = ''
  #peakMb = 0
  /** @type {NodeJS.Timeout | undefined} */
  #sampling

  /** @param {import('node:child_process').ChildProcess} child */
  constructor(child) {
    this.#child = child
  }

  /** @param {{ dist: string, url: string }} params */
  static async start({ dist, url }) {
    const served = new Served(fork(file, [dist, url], { execArgv: ['--max-semi-space-size=64'] }))
    served.#url = await new Promise((resolve, reject) => {
      served.#child.once('message', (/** @type {any} */ message) => resolve(message.url))
      served.#child.once('exit', () => reject(new Error('the server did not start')))
    })
    served.#sampling = setInterval(() => {
      served.#peakMb = Math.max(served.#peakMb, rssMb(served.#child.pid))
    }, SAMPLE_EVERY_MS)
    return served
  }

  async stop() {
    clearInterval(this.#sampling)
    const exited = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.disconnect()
    await exited
  }

  /** Memory of the server process, sampled; starts again. */
  takePeakRssMb() {
    const peak = Math.max(this.#peakMb, rssMb(this.#child.pid))
    this.#peakMb = 0
    return peak
  }

  /** @param {string} path @param {unknown} body @param {string} [type] @returns {Promise<any>} */
  async post(path, body, type = 'application/json') {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(this.#url + path, { method: 'POST', headers: { 'content-type': type }, body: text })
    const answer = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${answer.slice(0, 300)}`)
    return JSON.parse(answer)
  }

  /** @param {string} id */
  async ended(id) {
    const response = await fetch(`${this.#url}/v1/instances/${id}`)
    const { instance } = /** @type {any} */ (await response.json())
    return instance.ended_at === undefined || instance.ended_at === null ? null : instance.state
  }

  /** @param {string} text */
  deploy(text) {
    return this.post('/v1/definitions', text, 'application/yaml')
  }

  /** @param {string} workflow @returns {Promise<string>} */
  async begin(workflow) {
    return (await this.post('/v1/instances', { workflow, input: { week: 46 } })).id
  }

  /**
   * Workers over HTTP, each with leases of its own, until this many steps are done.
   * @param {{ workers: number, steps: number }} params
   */
  async work({ workers, steps }) {
    let done = 0
    const worker = async (/** @type {string} */ worker_id) => {
      while (done < steps) {
        const asked = { queues: [STEP], count: 100, worker_id, visibility_timeout_ms: 600_000, wait_ms: 100 }
        const { jobs } = await this.post('/ojs/v1/workers/fetch', asked)
        if (jobs.length === 0) continue
        const acks = jobs.map((/** @type {{ id: string }} */ job) => ({ job_id: job.id, worker_id, result: { n: 1 } }))
        const { failed } = await this.post('/ojs/v1/workers/ack/batch', { acks })
        if (failed > 0) throw new Error(`${failed} acknowledgements were refused`)
        done += jobs.length
      }
    }
    await Promise.all(Array.from({ length: workers }, (_, i) => worker(`bench-${i}`)))
  }
}
