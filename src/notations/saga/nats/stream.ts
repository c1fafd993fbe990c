/**
 * The stream that keeps starts and completions until they are worked on, and its durable consumers. Whatever is missing
 * is made; what is there is taken as it is, so that an operator may give it replicas or limits of his own.
 *
 * Retention is that of a work queue: what was acknowledged is gone, and a consumer that was lost and made again gets
 * what nobody acknowledged, not everything that ever happened. NATS 2.9 knows all that is asked for here.
 */
import {
  AckPolicy,
  DeliverPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'
import type { Names } from './names.ts'

export interface Inflow {
  readonly subject: string
  readonly consumer: string
  /** What was handed out and not acknowledged for so long is handed out again. */
  readonly ackWaitMs: number
}

/** More than this unacknowledged, over all processes, and the server waits. Those that come again later count, too. */
const MOST_UNACKNOWLEDGED = 20_000
const NOT_FOUND = 404

/** Gives the stream that the subject belongs to. */
export async function ensureConsumer(jsm: JetStreamManager, names: Names, inflow: Inflow): Promise<string> {
  const stream = await ensureStream(jsm, names, inflow.subject)
  const there = await orNull(jsm.consumers.info(stream, inflow.consumer))
  if (there === null) {
    await jsm.consumers.add(stream, {
      durable_name: inflow.consumer,
      filter_subject: inflow.subject,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(inflow.ackWaitMs),
      deliver_policy: DeliverPolicy.All,
      max_deliver: -1,
      max_ack_pending: MOST_UNACKNOWLEDGED,
    })
  }
  return stream
}

/** Somebody may keep these subjects in a stream of his own: then that is the one. */
async function ensureStream(jsm: JetStreamManager, names: Names, subject: string): Promise<string> {
  const there = await orNull(jsm.streams.find(subject))
  if (there !== null) return there
  await jsm.streams.add({
    name: names.stream,
    subjects: [names.start, names.completed],
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
  })
  return names.stream
}

async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof JetStreamApiError && error.status === NOT_FOUND) return null
    throw error
  }
}
