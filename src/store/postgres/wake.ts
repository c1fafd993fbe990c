/**
 * Wake-ups across processes by NOTIFY. Sending: wakes are collected while the last NOTIFY is in flight and sent as one,
 * on a connection of their own, after commit. Receiving: one LISTEN connection that reconnects by itself; after each
 * reconnect an empty wake is emitted, since anything may have been missed. An empty wake means: look at everything.
 */
import pg from 'pg'
import type { Wake } from '../store.ts'
import { fly } from './connection/flight.ts'
import { clientConfig, type Lanes, type LanesParams } from './connection/lanes.ts'
import { statement } from './connection/statement.ts'

const CHANNEL = 'workflow_wake'
/** PostgreSQL refuses payloads of 8000 bytes and more. */
const PAYLOAD_BYTES = 7900

const NOTIFY = statement(`SELECT pg_notify('${CHANNEL}', $1)`)

export class WakeSender {
  readonly #lanes: Lanes
  readonly #sender: string
  #queues = new Set<string>()
  #ended = new Set<string>()
  #control = false
  #commands = false
  #everything = false
  #due = false
  #sending: Promise<void> | null = null

  constructor(lanes: Lanes, sender: string) {
    this.#lanes = lanes
    this.#sender = sender
  }

  send(wake: Wake): void {
    for (const queue of wake.queues ?? []) this.#queues.add(queue)
    for (const id of wake.ended ?? []) this.#ended.add(id)
    if (wake.control === true) this.#control = true
    if (wake.commands === true) this.#commands = true
    if (isEmpty(wake)) this.#everything = true
    this.#due = true
    this.#sending ??= this.#run()
  }

  /** Waits until all wakes so far have been sent. */
  async flush(): Promise<void> {
    await this.#sending
  }

  async #run(): Promise<void> {
    // one turn of the event loop: wakes of one settle are collected
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#due) {
      const payload = this.#take()
      // the other processes' slow poll compensates for a lost wake
      await this.#lanes.use((lane) => fly(lane.client, [{ statement: NOTIFY, values: [payload] }])).catch(() => {})
    }
    this.#sending = null
  }

  #take(): string {
    const wake: Wake = this.#everything
      ? {}
      : {
          ...(this.#queues.size > 0 ? { queues: [...this.#queues] } : {}),
          ...(this.#ended.size > 0 ? { ended: [...this.#ended] } : {}),
          ...(this.#control ? { control: true } : {}),
          ...(this.#commands ? { commands: true } : {}),
        }
    this.#queues = new Set()
    this.#ended = new Set()
    this.#control = false
    this.#commands = false
    this.#everything = false
    this.#due = false
    const full = JSON.stringify({ from: this.#sender, wake })
    return Buffer.byteLength(full) < PAYLOAD_BYTES ? full : JSON.stringify({ from: this.#sender, wake: {} })
  }
}

function isEmpty({ queues, ended, control, commands }: Wake): boolean {
  return queues === undefined && ended === undefined && control !== true && commands !== true
}

export class WakeListener {
  readonly #params: Pick<LanesParams, 'url' | 'name' | 'settings'>
  readonly #sender: string
  readonly #listeners = new Set<(wake: Wake) => void>()
  #client: pg.Client | null = null
  #timer: NodeJS.Timeout | null = null
  #pauseMs = 50
  #closed = false
  #started: Promise<void> | null = null

  constructor(params: Pick<LanesParams, 'url' | 'name' | 'settings'>, sender: string) {
    this.#params = params
    this.#sender = sender
  }

  add(listener: (wake: Wake) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Begins to listen; resolves after the first attempt, successful or not. */
  start(): Promise<void> {
    this.#started ??= this.#connect(false)
    return this.#started
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#started
    await this.#client?.end().catch(() => {})
  }

  async #connect(again: boolean): Promise<void> {
    const client = new pg.Client(clientConfig(this.#params))
    let gone = false
    const drop = (): void => {
      if (gone) return
      gone = true
      if (this.#client === client) this.#client = null
      if (!this.#closed) this.#reconnectLater()
    }
    client.on('error', drop)
    client.on('end', drop)
    client.on('notification', (message) => this.#hear(message.payload))
    try {
      await client.connect()
      await client.query(`LISTEN ${CHANNEL}`)
    } catch {
      client.end().catch(() => {})
      drop()
      return
    }
    if (this.#closed) {
      await client.end()
      return
    }
    this.#client = client
    this.#pauseMs = 50
    if (again) this.#emit({})
  }

  #reconnectLater(): void {
    this.#timer = setTimeout(() => void this.#connect(true), this.#pauseMs * (0.5 + Math.random()))
    this.#timer.unref()
    this.#pauseMs = Math.min(this.#pauseMs * 2, 5000)
  }

  #hear(payload: string | undefined): void {
    let message: { readonly from?: string; readonly wake?: Wake }
    try {
      message = JSON.parse(payload ?? '{}')
    } catch {
      message = {}
    }
    if (message.from !== this.#sender) this.#emit(message.wake ?? {})
  }

  #emit(wake: Wake): void {
    for (const listener of this.#listeners) listener(wake)
  }
}
