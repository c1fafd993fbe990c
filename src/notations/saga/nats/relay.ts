/**
 * Takes due commands out of the store and publishes them. Any number of processes do so: a command that one has taken
 * is left alone by the others until its hold runs out.
 *
 *   idle ──(notified, or a command is due)──▶ take ──▶ publish ──▶ flush ──▶ confirm ──▶ take …
 *
 * Confirmed means that the server has acknowledged receipt: a PONG came after the command. If anything goes wrong
 * before that, the command stays held; it is due again when the hold runs out, in this process or another. So a command
 * is published at least once, always under the id of its run. While NATS is unavailable nothing is taken: another
 * process may have a connection.
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
  /** How long the others leave commands alone that this process took. */
  readonly holdMs: number
  /** Interval of the poll behind every wake-up. */
  readonly pollMs: number
  /** Whether no other engine uses this NATS. */
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
  /** Notified of new commands since the last look. */
  #notified = true
  #wake: AbortController | null = null

  constructor(params: RelayParams) {
    this.#params = params
  }

  start(): void {
    this.#looping ??= this.#loop()
  }

  /** Commands being published are confirmed before it resolves; the rest waits for others, or for the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#wake?.abort()
    await this.#looping
  }

  async #loop(): Promise<void> {
    const { engine, link, pollMs, logger } = this.#params
    const nudge = (): void => {
      this.#notified = true
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
        // While NATS is unavailable, new commands are no reason to look.
        if (idleMs > 0 && !(this.#notified && link.connected)) await this.#sleep(idleMs)
      } catch (error) {
        logger?.warn({ err: error }, 'commands could not be published; trying again')
        await sleep(AFTER_ERROR_MS, this.#stopping.signal)
        this.#notified = true
      }
    }
    for (const stop of undo) stop()
  }

  /** The engine has started. Unanswered commands that its predecessor published are published again at once. */
  async #begin(): Promise<void> {
    const { engine, alone } = this.#params
    if (await alone()) await engine.commands.renew()
  }

  /** Publishes due commands. Returns how long none will be due. */
  async #look(): Promise<number> {
    const { engine, pollMs, holdMs } = this.#params
    if (!this.#notified) {
      const waitMs = await this.#untilDue()
      if (waitMs > 0) return Math.min(waitMs, pollMs)
    }
    this.#notified = false
    const rows = await engine.commands.take({ limit: PORTION, holdMs })
    if (rows.length > 0) await this.#publish(rows)
    if (rows.length === PORTION) this.#notified = true
    return this.#notified || rows.length > 0 ? 0 : pollMs
  }

  async #untilDue(): Promise<number> {
    const { commands, queries } = this.#params.engine
    const dueAt = await commands.nextDueAt()
    return dueAt === null ? Number.POSITIVE_INFINITY : dueAt - (await queries.now())
  }

  async #publish(rows: readonly CommandRow[]): Promise<void> {
    const { engine, link } = this.#params
    const sent: string[] = []
    for (const row of rows) if (await this.#send(row)) sent.push(row.runId)
    if (sent.length === 0) return
    await this.#flushed()
    // Lost in a disconnect, in which the flush would have failed too.
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
    // The one that loses the race may still fail later.
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

  /** It can never be published: too large, or an invalid header. */
  async #giveUp({ runId, instanceId, subject, body, publishes }: CommandRow, error: Error): Promise<void> {
    const { engine, link, logger } = this.#params
    logger?.error({ err: error, run: runId, instance: instanceId, subject }, 'a command cannot be published')
    // No service ever got it, so the work has not been done. A command published before is only not sent again.
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
