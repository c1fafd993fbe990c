/**
 * Delivers events to the subscriptions for them. The feed of events is the source of truth; each subscription has a
 * cursor in it and an outbox:
 *
 *   feed ──(fan out: cursor and outbox move in one transaction)──▶ outbox ──(send, record)──▶ delivered | dead
 *
 * If a process dies between any two of these steps, the next one continues: an event that was not fanned out is still
 * after the cursor, a delivery that was not recorded is still pending. So each event is delivered at least once, under
 * an id that is made of subscription and event and therefore always the same.
 *
 * One process at a time delivers for a subscription: it holds a lease, renewed while it lives. After a crash another
 * takes over when the lease has run out; a process that was suspended for longer may send a few again.
 *
 * Order: an `ordered` subscription gets one event at a time, and one that fails holds up those behind it until it is
 * delivered or dead. Others get several at a time, begun in the order of the feed; failed ones are sent again later.
 */

import { randomUUID } from 'node:crypto'
import { idOfName } from '../../../kernel/ids.ts'
import type { Logger } from '../../../kernel/logger.ts'
import { sleep } from '../../../kernel/sleep.ts'
import type { DeliveryRow, NewDelivery, WebhookRow, Webhooks } from '../../../model/webhooks.ts'
import type { Noting } from '../../interface/projection.ts'
import { eventText, type MappedEvent, ojsEvents, UNREADABLE } from '../project/events.ts'
import { type Posted, post } from './post.ts'
import { secretsOf, signature } from './signature.ts'
import { verdict } from './verdict.ts'

/** What deliveries are made from; the engine is one. */
export interface Source extends Noting {
  readonly records: { readonly webhooks: Webhooks }
  readonly storage: { onRemoteCommit(listener: () => void): () => void }
}

export interface DispatcherParams {
  readonly engine: Source
  readonly version: string
  readonly allowPrivate: boolean
  readonly logger: Logger | null
  /** How long after a crash another process waits. Default 15,000. */
  readonly leaseMs?: number
}

const LEASE_MS = 15_000
const LOOK_MS = 1_000
/** Between two reads of the feed, however many events there are. */
const LEAST_PAUSE_MS = 50
const AFTER_ERROR_MS = 2_000
const FEED_PORTION = 200
/** Further events wait in the feed, not in the outbox. */
const OUTBOX = 1_000
const AT_ONCE = 8
const CLOSING_GRACE_MS = 2_000
const PRUNE_MS = 10 * 60_000
const DAY = 24 * 60 * 60_000
const KEEP_DELIVERED = 7 * DAY
const KEEP_DEAD = 30 * DAY

interface Sending {
  readonly id: string
  readonly type: string
  readonly body: string
}

export class Dispatcher {
  readonly #params: DispatcherParams
  readonly #holder = randomUUID()
  readonly #serving = new Map<string, Promise<void>>()
  readonly #stopping = new AbortController()
  readonly #cutting = new AbortController()
  #held: ReadonlySet<string> = new Set()
  #wake: (() => void) | null = null
  /** Woken while it was not waiting. */
  #woken = false
  #looping: Promise<void> | null = null
  #prunedAt = 0

  constructor(params: DispatcherParams) {
    this.#params = params
  }

  start(): void {
    this.#looping ??= this.#loop()
  }

  /** There may be events for a subscription. Costs nothing without subscriptions. */
  nudge(): void {
    if (this.#held.size > 0) this.look()
  }

  /** Subscriptions have changed. */
  look(): void {
    this.#woken = true
    this.#wake?.()
  }

  /** Requests that have begun may end; deliveries that are not recorded by then are sent again by the next process. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.look()
    const cut = setTimeout(() => this.#cutting.abort(), CLOSING_GRACE_MS)
    await this.#looping
    await Promise.allSettled(this.#serving.values())
    clearTimeout(cut)
    await this.#webhooks.release(this.#holder).catch(() => undefined)
  }

  /** Sends an event that is in no outbox, at once: to test a subscription. */
  tryOut(row: WebhookRow, event: Sending): Promise<Posted> {
    return this.#post(row, event, Date.now())
  }

  get #webhooks() {
    return this.#params.engine.records.webhooks
  }

  async #loop(): Promise<void> {
    const unsubscribe = this.#params.engine.storage.onRemoteCommit(() => this.nudge())
    while (!this.#stopping.signal.aborted) {
      let pause = LOOK_MS
      try {
        await this.#look()
      } catch (error) {
        this.#params.logger?.warn({ err: error }, 'webhooks could not be looked after; trying again')
        pause = AFTER_ERROR_MS
      }
      await this.#sleep(pause)
    }
    unsubscribe()
  }

  async #look(): Promise<void> {
    const rows = await this.#webhooks.hold({ holder: this.#holder, leaseMs: this.#params.leaseMs ?? LEASE_MS })
    this.#held = new Set(rows.map((row) => row.id))
    for (const { id } of rows) {
      if (this.#serving.has(id)) continue
      const serving = this.#serve(id)
        .catch((error: unknown) =>
          this.#params.logger?.warn({ err: error, webhook: id }, 'webhook failed; trying again'),
        )
        .finally(() => this.#serving.delete(id))
      this.#serving.set(id, serving)
    }
    await this.#prune()
  }

  /** Until nothing more can be sent now. */
  async #serve(id: string): Promise<void> {
    while (!this.#stopping.signal.aborted && this.#held.has(id)) {
      // Read again each time: it may have been changed, stopped or removed meanwhile.
      const row = await this.#webhooks.find(id)
      if (row === null || !row.active || row.leaseBy !== this.#holder) return
      const moved = await this.#fanOut(row)
      const due = await this.#webhooks.due({ webhookId: id, ordered: row.ordered, limit: AT_ONCE })
      // The clock is read once for all, so that they begin in their order.
      const now = due.length === 0 ? 0 : await this.#params.engine.queries.now()
      await Promise.all(due.map((delivery) => this.#deliver(row, delivery, now)))
      if (!moved && due.length === 0) return
    }
  }

  async #fanOut(row: WebhookRow): Promise<boolean> {
    const { engine } = this.#params
    if ((await this.#webhooks.countPending({ webhookId: row.id, atMost: OUTBOX })) >= OUTBOX) return false
    const page = await engine.queries.events({ afterId: row.cursor, limit: FEED_PORTION, tenant: row.tenant })
    if (page.cursor <= row.cursor) return false
    const events = (await ojsEvents(engine, page.events)).filter((event) => wants(row, event))
    return this.#webhooks.advance({
      id: row.id,
      holder: this.#holder,
      from: row.cursor,
      to: page.cursor,
      deliveries: events.map((event) => deliveryOf(row, event, eventText(engine, event))),
    })
  }

  async #deliver(row: WebhookRow, delivery: DeliveryRow, now: number): Promise<void> {
    const event = { id: delivery.id, type: delivery.eventType, body: delivery.body }
    const posted = await this.#posted(row, event, now)
    // Aborted because this process stops, which is not a failure of the receiver.
    if (this.#cutting.signal.aborted && posted.status === null) return
    const attempt = verdict(row, delivery, posted)
    await this.#webhooks.attempted({ webhookId: row.id, attempt })
    if (attempt.state === 'dead') {
      const { id, error, status } = attempt
      this.#params.logger?.warn({ webhook: row.id, delivery: id, error, status }, 'a webhook was not delivered')
    }
  }

  /**
   * A delivery that cannot be sent counts as an attempt: it is sent later, or is dead, and does not delay the others.
   */
  async #posted(row: WebhookRow, event: Sending, now: number): Promise<Posted> {
    try {
      return await this.#post(row, event, now)
    } catch (error) {
      return { status: null, error: (error as Error).message, ms: 0, retryAfterMs: null }
    }
  }

  /**
   * `now`: of the store's clock, for the grace of an old secret. The timestamp is from this machine's clock, since
   * receivers compare it with theirs.
   */
  #post(row: WebhookRow, event: Sending, now: number): Promise<Posted> {
    const { version, allowPrivate } = this.#params
    const timestamp = Math.floor(Date.now() / 1000)
    return post({
      url: row.url,
      body: event.body,
      timeoutMs: row.timeoutMs,
      allowPrivate,
      signal: this.#cutting.signal,
      headers: {
        'content-type': 'application/json',
        'user-agent': `OJS-Webhook/1.0 petrel/${version}`,
        'x-ojs-event-type': event.type,
        'x-ojs-delivery-id': event.id,
        'x-ojs-subscription-id': row.id,
        'x-ojs-timestamp': String(timestamp),
        'x-ojs-signature': signature({ secrets: secretsOf(row, now), timestamp, body: event.body }),
      },
    })
  }

  async #prune(): Promise<void> {
    if (this.#held.size === 0 || performance.now() - this.#prunedAt < PRUNE_MS) return
    this.#prunedAt = performance.now()
    const now = await this.#params.engine.queries.now()
    const bounds = { deliveredBefore: now - KEEP_DELIVERED, deadBefore: now - KEEP_DEAD, limit: 1000 }
    while ((await this.#webhooks.prune(bounds)) === bounds.limit && !this.#stopping.signal.aborted);
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#stopping.signal.aborted) return
    const began = performance.now()
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      this.#wake = null
    }
    const left = LEAST_PAUSE_MS - (performance.now() - began)
    if (left > 0 && !this.#stopping.signal.aborted) await sleep(left)
    this.#woken = false
  }
}

function deliveryOf(row: WebhookRow, event: MappedEvent, body: string): NewDelivery {
  const { wire, feedId, part } = event
  return {
    id: `del_${idOfName(`${row.id} ${wire.id}`)}`,
    feedId,
    part,
    eventId: wire.id,
    eventType: wire.type,
    body,
  }
}

function wants(row: WebhookRow, { wire, queue, jobType }: MappedEvent): boolean {
  return (
    (wire.type === UNREADABLE || row.events.some((wanted) => isType(wanted, wire.type))) &&
    (row.queues === null || (queue !== null && row.queues.includes(queue))) &&
    (row.jobTypes === null || (jobType !== null && row.jobTypes.includes(jobType)))
  )
}

function isType(wanted: string, type: string): boolean {
  return wanted === '*' || wanted === type || (wanted.endsWith('.*') && type.startsWith(wanted.slice(0, -1)))
}
