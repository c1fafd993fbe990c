/**
 * Takes due commands out of the store and publishes them. Any number of processes do so: what one took is nobody else's
 * until its hold runs out.
 *
 *   idle ──(told of new ones, or one is due)──▶ take ──▶ publish ──▶ flush ──▶ confirm ──▶ take …
 *
 * Confirmed is what the server has acknowledged to have got: a PONG that came behind it. Whatever goes wrong before
 * that, here or there, leaves the command held; it is due again when the hold runs out, here or elsewhere. So a command
 * is published at least once, always under the id of its run. While NATS is away nothing is taken: another process may
 * have a connection.
 */
import { type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node'
import type { EngineApi } from '../../../engine/api.ts'
import type { Logger } from '../../../kernel/logger.ts'
import { sleep } from '../../../kernel/sleep.ts'
import type { CommandRow } from '../../../model/commands.ts'
import type { Link } from './link.ts'
import { HEADERS, type Names } from './names.ts'

export interface RelayParams {
  readonly engine: EngineApi
  readonly link: Link
  readonly names: Names
  readonly logger: Logger | null
  /** How long others leave alone what we took. */
  readonly holdMs: number
  /** Backstop of every wake-up. */
  readonly pollMs: number
  /** Whether no other engine runs on this road. */
  readonly alone: () => Promise<boolean>
}

const PORTION = 200
const AFTER_ERROR_MS = 1_000
/** Headers count against the server's limit, too. */
const MOST_HEADER_BYTES = 1_024

export class Relay {
  readonly #params: RelayParams
  readonly #stopping = new AbortController()
  #looping: Promise<void> | null = null
  /** Told of new ones since the last look. */
  #told = true
  #wake: AbortController | null = null

  constructor(params: RelayParams) {
    this.#params = params
  }

  start(): void {
    this.#looping ??= this.#loop()
  }

  /** What is being published is confirmed before it resolves; the rest waits for others, or for the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#wake?.abort()
    await this.#looping
  }

  async #loop(): Promise<void> {
    const { engine, link, pollMs, logger } = this.#params
    const nudge = (): void => {
      this.#told = true
      this.#wake?.abort()
    }
    const undo = [engine.commands.onStored(nudge), link.onBack(nudge)]
    let begun = false
    while (!this.#stopping.signal.aborted) {
      try {
        if (!begun && link.connected) {
          await this.#begin()
          begun = true
        }
        const idleMs = link.connected ? await this.#look() : pollMs
        // While NATS is away, being told of commands is no reason to look.
        if (idleMs > 0 && !(this.#told && link.connected)) await this.#sleep(idleMs)
      } catch (error) {
        logger?.warn({ err: error }, 'commands could not be published; trying again')
        await sleep(AFTER_ERROR_MS, this.#stopping.signal)
        this.#told = true
      }
    }
    for (const stop of undo) stop()
  }

  /** The engine has started. What its predecessor published and nobody answered is published again at once. */
  async #begin(): Promise<void> {
    const { engine, alone } = this.#params
    if (await alone()) await engine.commands.renew()
  }

  /** Publishes what is due. Gives how long nothing is. */
  async #look(): Promise<number> {
    const { engine, pollMs, holdMs } = this.#params
    if (!this.#told) {
      const waitMs = await this.#untilDue()
      if (waitMs > 0) return Math.min(waitMs, pollMs)
    }
    this.#told = false
    const rows = await engine.commands.take({ limit: PORTION, holdMs })
    if (rows.length > 0) await this.#publish(rows)
    if (rows.length === PORTION) this.#told = true
    return this.#told || rows.length > 0 ? 0 : pollMs
  }

  async #untilDue(): Promise<number> {
    const { commands, store } = this.#params.engine
    const dueAt = await commands.nextDueAt()
    return dueAt === null ? Number.POSITIVE_INFINITY : dueAt - (await store.now())
  }

  async #publish(rows: readonly CommandRow[]): Promise<void> {
    const { engine, link } = this.#params
    const sent: string[] = []
    for (const row of rows) if (await this.#send(row)) sent.push(row.runId)
    if (sent.length === 0) return
    await this.#flushed()
    // Lost on the way by a disconnect: the flush would have failed with it.
    if (!link.connected) throw new Error('the connection was lost before the server answered')
    await engine.commands.confirm({ runIds: sent })
  }

  async #flushed(): Promise<void> {
    const { link, holdMs } = this.#params
    const flush = link.nc.flush()
    const late = new AbortController()
    const timeout = sleep(holdMs, late.signal).then(() => {
      if (!late.signal.aborted) throw new Error(`the server did not answer within ${holdMs} ms`)
    })
    // Whichever loses may still fail, unheard.
    flush.catch(() => {})
    timeout.catch(() => {})
    try {
      await Promise.race([flush, timeout])
    } finally {
      late.abort()
    }
  }

  async #send(row: CommandRow): Promise<boolean> {
    const { link, names } = this.#params
    try {
      link.nc.publish(names.under(row.subject), row.body, { headers: headersOf(row) })
      return true
    } catch (error) {
      if (!link.connected) throw error
      await this.#giveUp(row, error as Error)
      return false
    }
  }

  /** It can never be published: too large, a header that is none. */
  async #giveUp({ runId, instanceId, subject, body, publishes }: CommandRow, error: Error): Promise<void> {
    const { engine, link, logger } = this.#params
    logger?.error({ err: error, run: runId, instance: instanceId, subject }, 'a command cannot be published')
    // Nobody ever got it, so the work has not been done. One that was published before is only not sent again.
    if (publishes > 0) return
    const tooLarge =
      Buffer.byteLength(body) > (link.nc.info?.max_payload ?? Number.POSITIVE_INFINITY) - MOST_HEADER_BYTES
    const code = tooLarge ? 'command_too_large' : 'command_unpublishable'
    const message = `the command could not be published on ${subject}: ${error.message}`
    const outcome = { kind: 'failed' as const, error: { code, message, retryable: false } }
    await engine.complete({ runId, instanceId, outcome }).catch((refused: unknown) => {
      logger?.warn({ err: refused, run: runId }, 'a command that cannot be published could not be failed')
    })
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#wake = new AbortController()
    await sleep(ms, this.#wake.signal)
    this.#wake = null
  }
}

function headersOf({ instanceId, runId, tenant }: CommandRow): MsgHdrs {
  const headers = newHeaders()
  headers.set(HEADERS.instance, instanceId)
  headers.set(HEADERS.step, runId)
  if (tenant !== null) headers.set(HEADERS.tenant, tenant)
  return headers
}
