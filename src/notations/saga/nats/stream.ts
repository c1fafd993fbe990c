/**
 * The stream that stores starts and completions until they are processed, and its durable consumers. Missing ones are
 * created; existing ones are used unchanged, so that an operator may configure replicas or limits.
 *
 * The retention is that of a work queue: acknowledged messages are removed, and a consumer that was lost and created
 * again gets the unacknowledged ones, not everything that ever happened. All settings are supported by NATS 2.9.
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
  /** After this long, an unacknowledged message is delivered again. */
  readonly ackWaitMs: number
}

/**
 * The server stops delivering beyond this many unacknowledged messages, over all processes, including postponed ones.
 */
const MOST_UNACKNOWLEDGED = 20_000
const NOT_FOUND = 404

/** Returns the stream that the subject belongs to. */
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

/** These subjects may already belong to an operator's own stream, which is then used. */
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
