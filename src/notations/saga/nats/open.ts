/** The options of an engine's transport, which is only loaded when it is opened. */
import type { NatsConnection } from '@nats-io/transport-node'
import type { EngineApi } from '../../../engine/api.ts'
import type { Logger } from '../../../kernel/logger.ts'
import type { ControlReach } from './names.ts'

export interface SagaTransportOptions {
  readonly engine: EngineApi
  /** nats://host:4222, several separated by commas; it may contain a user and password, or a token. */
  readonly url?: string
  /** File with the credentials of a user (.creds). */
  readonly credentials?: string
  /** Instead of `url`: the caller's own connection, which stays open. */
  readonly connection?: NatsConnection
  /** Precedes every subject, and is part of the stream's name: for deployments that share a NATS account. */
  readonly prefix?: string
  /**
   * What requests on NATS reach. `tenant`: workflow.v1.tenants.T.* the sagas of tenant T, workflow.v1.* those without a
   * tenant. `all`: workflow.v1.* every saga. `none`: no requests are answered. Default tenant.
   */
  readonly control?: ControlReach
  readonly logger?: Logger
  /** Longest message that is read, in bytes. Default 1 MiB plus the size of the envelope around the result. */
  readonly maxBytes?: number
  /** How long other processes leave a command alone that one has taken and not confirmed. Default 5,000. */
  readonly holdMs?: number
  /** Interval of the poll behind every wake-up. Default 1,000. */
  readonly pollMs?: number
  /**
   * After this long, an unacknowledged message is delivered again. Only for a consumer created here. Default 10,000.
   */
  readonly ackWaitMs?: number
  /** Messages of one kind processed at the same time. Default 64. */
  readonly atOnce?: number
}

export interface SagaTransport {
  /** Resolves when it is connected, and messages are being fetched. */
  readonly ready: Promise<void>
  /** Why it cannot work properly, in a sentence; null: no problem is known. */
  readonly problem: string | null
  /** Finishes what has begun; the rest waits for other processes, or for the next start. */
  close(): Promise<void>
}

/** Resolves at once: NATS may still be unavailable. */
export async function openSagaTransport(options: SagaTransportOptions): Promise<SagaTransport> {
  const { Transport } = await import('./transport.ts')
  const transport = new Transport(options)
  transport.start()
  return transport
}
