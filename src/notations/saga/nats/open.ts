/** What the transport of an engine is asked for; it is loaded when it is. */
import type { NatsConnection } from '@nats-io/transport-node'
import type { EngineApi } from '../../../engine/api.ts'
import type { Logger } from '../../../kernel/logger.ts'
import type { ControlReach } from './names.ts'

export interface SagaTransportOptions {
  readonly engine: EngineApi
  /** nats://host:4222, several by comma; a user and password, or a token, may stand in it. */
  readonly url?: string
  /** File with the credentials of a user (.creds). */
  readonly credentials?: string
  /** Instead of `url`: one's own connection, which stays open. */
  readonly connection?: NatsConnection
  /** Stands before every subject, and in the name of the stream: for deployments that share a NATS account. */
  readonly prefix?: string
  /**
   * What requests on NATS reach. `tenant`: workflow.v1.tenants.T.* the sagas of tenant T, workflow.v1.* those without a
   * tenant. `all`: workflow.v1.* every saga. `none`: no requests are answered. Default tenant.
   */
  readonly control?: ControlReach
  readonly logger?: Logger
  /** Longest message that is read, in bytes. Default 1 MiB and room for what is around the result. */
  readonly maxBytes?: number
  /** How long a command that was taken and not confirmed is left alone. Default 5,000. */
  readonly holdMs?: number
  /** Backstop of every wake-up. Default 1,000. */
  readonly pollMs?: number
  /** A message that was handed out and not acknowledged for so long comes again. Only for a consumer made here. Default 10,000. */
  readonly ackWaitMs?: number
  /** Messages of one kind worked on at the same time. Default 64. */
  readonly atOnce?: number
}

export interface SagaTransport {
  /** Resolves when it is connected, and messages are being fetched. */
  readonly ready: Promise<void>
  /** Why it cannot work as it should, in a sentence; null: nothing is known to be wrong. */
  readonly problem: string | null
  /** What has begun is finished; the rest waits for other processes, or for the next start. */
  close(): Promise<void>
}

/** Resolves at once: NATS need not be there yet. */
export async function openSagaTransport(options: SagaTransportOptions): Promise<SagaTransport> {
  const { Transport } = await import('./transport.ts')
  const transport = new Transport(options)
  transport.start()
  return transport
}
