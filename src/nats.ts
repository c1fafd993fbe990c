/**
 * `petrel/nats`: sagas on NATS. What a domain service needs, and the transport for an engine. Apart from the rest, so that
 * a service loads no engine, and a program without sagas no NATS.
 */
import { engineOf } from './client/engine-of.ts'
import type { Petrel } from './client/petrel.ts'
import * as transport from './notations/saga/nats/open.ts'

export type { StepLogLine, StepOutcome } from './notations/saga/nats/completion.ts'
export { EffectFailed, type Once, type StepAnswer, type StepKeys } from './notations/saga/nats/domain/keys.ts'
export { postgresKeys, type SqlClient, type SqlPool } from './notations/saga/nats/domain/postgres-keys.ts'
export {
  type PublishOptions,
  publishStepCompletion,
  type StepCompletion,
} from './notations/saga/nats/domain/publish.ts'
export { type SyncDatabase, sqliteKeys } from './notations/saga/nats/domain/sqlite-keys.ts'
export {
  accepted,
  NoAnswer,
  type StepCommand,
  type StepConsumer,
  type StepConsumerOptions,
  type StepHandler,
  stepConsumer,
  withWarnings,
} from './notations/saga/nats/domain/step-consumer.ts'
export type { SagaTransport } from './notations/saga/nats/open.ts'

export interface SagaTransportOptions extends Omit<transport.SagaTransportOptions, 'engine'> {
  readonly petrel: Petrel
}

/** Resolves at once: NATS need not be there yet. */
export function openSagaTransport({ petrel, ...options }: SagaTransportOptions): Promise<transport.SagaTransport> {
  return transport.openSagaTransport({ ...options, engine: engineOf(petrel) })
}
