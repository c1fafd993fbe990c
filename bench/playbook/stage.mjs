// @ts-check
/**
 * `petrel server` and `petrel worker --tools`, each a process of its own on one store, and a client over HTTP that plays
 * playbooks on them: how long each took, and what both processes used meanwhile.
 *
 * @typedef {{ ms: number, cpuMicros: number, slowestMs: number, server: Memory, worker: Memory }} Played
 * `ms`: from the start of the request until the end as the store has it. `slowestMs`: the longest time that the server
 * took to answer a health check.
 * @typedef {{ peakMb: number, earlierMb: number, laterMb: number }} Memory
 * The peaks of the first and of the second half of the time.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { sleep } from '../figures.mjs'
import { cpuMicros, rssMb } from '../rss.mjs'

const SAMPLE_EVERY_MS = 50
const LOOK_EVERY_MS = 20
/** Enough for max_in_flight of the loops. */
const CONCURRENCY = '50'

/** @typedef {{ child: import('node:child_process').ChildProcess, ready: any }} Process */

export class Stage {
  #server
  #worker
  #url

  /** @param {Process} server @param {Process} worker */
  constructor(server, worker) {
    this.#server = server.child
    this.#worker = worker.child
    this.#url = server.ready.url
  }

  /** @param {{ dist: string, url: string }} params */
  static async open({ dist, url }) {
    const store = ['--store', url, '--json']
    const server = await start(dist, ['server', '--port', '0', '--rate-limit', '0', ...store])
    try {
      return new Stage(server, await start(dist, ['worker', '--tools', 'noop', '--concurrency', CONCURRENCY, ...store]))
    } catch (error) {
      server.child.kill()
      throw error
    }
  }

  async close() {
    for (const child of [this.#worker, this.#server]) {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      if (child.kill()) await gone
    }
  }

  get pids() {
    return { server: this.#server.pid, worker: this.#worker.pid }
  }

  /** @param {string} method @param {string} path @param {unknown} [body] @param {string} [type] @returns {Promise<any>} */
  async ask(method, path, body, type = 'application/json') {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const sent = body === undefined ? {} : { headers: { 'content-type': type }, body: text }
    const response = await fetch(this.#url + path, { method, ...sent })
    const answer = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${answer.slice(0, 300)}`)
    return JSON.parse(answer)
  }

  /** @param {string} text */
  deploy(text) {
    return this.ask('POST', '/v1/definitions', text, 'application/yaml')
  }

  /**
   * Runs a workflow until it has ended well. @param {string} workflow @param {object} input @returns {Promise<Played &
   * { id: string }>}
   */
  async play(workflow, input) {
    const watch = this.#watch()
    const before = this.#cpu()
    const from = Date.now()
    try {
      const { id } = await this.ask('POST', '/v1/instances', { workflow, input })
      const ended = await this.#ended(id)
      if (ended.outcome !== 'success') throw new Error(`${workflow} ended as ${ended.state}, ${ended.outcome}`)
      const ms = Date.parse(ended.ended_at) - from
      return { id, ms, cpuMicros: this.#cpu() - before, ...watch.stop() }
    } finally {
      watch.stop()
    }
  }

  /** The list of instances reads one row, however much the instance has done. @param {string} id */
  async #ended(id) {
    for (;;) {
      const { instances } = await this.ask('GET', '/v1/instances?limit=1')
      if (instances[0]?.id === id && instances[0].ended_at !== null) return instances[0]
      await sleep(LOOK_EVERY_MS)
    }
  }

  #cpu() {
    return cpuMicros(this.#server.pid) + cpuMicros(this.#worker.pid)
  }

  #watch() {
    /** @type {[server: number, worker: number][]} */
    const samples = []
    let slowestMs = 0
    let asking = false
    const look = async () => {
      samples.push([rssMb(this.#server.pid), rssMb(this.#worker.pid)])
      if (asking) return
      asking = true
      const from = performance.now()
      await fetch(`${this.#url}/ojs/v1/health`).then(
        (response) => response.text(),
        () => null,
      )
      slowestMs = Math.max(slowestMs, performance.now() - from)
      asking = false
    }
    const timer = setInterval(look, SAMPLE_EVERY_MS)
    return {
      stop: () => {
        clearInterval(timer)
        samples.push([rssMb(this.#server.pid), rssMb(this.#worker.pid)])
        return { slowestMs, server: memory(samples.map(([mb]) => mb)), worker: memory(samples.map(([, mb]) => mb)) }
      },
    }
  }
}

/** @param {readonly number[]} samples @returns {Memory} */
function memory(samples) {
  const half = Math.ceil(samples.length / 2)
  const [earlierMb, laterMb] = [samples.slice(0, half), samples.slice(-half)].map((part) => Math.max(...part))
  return { earlierMb: earlierMb ?? 0, laterMb: laterMb ?? 0, peakMb: Math.max(...samples) }
}

/** Started like `bin/petrel`. @param {string} dist @param {readonly string[]} args @returns {Promise<Process>} */
function start(dist, args) {
  const child = spawn(process.execPath, ['--max-semi-space-size=64', join(dist, 'cli.js'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.once('exit', () => child.kill())
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (more) => {
      text += more
      const line = text.split('\n').find((each) => each.includes('"ready"'))
      if (line !== undefined) resolve({ child, ready: JSON.parse(line) })
    })
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`petrel ${args[0]} ended with ${code}`)))
  })
}
