/**
 * `petrel/nats`: sagas on NATS. What a domain service needs, and the transport for an engine. Apart from the rest, so that
 * a service loads no engine, and a program without sagas no NATS.
 */
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
export { openSagaTransport, type SagaTransport, type SagaTransportOptions } from './notations/saga/nats/open.ts'
