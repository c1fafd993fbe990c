/**
 * `petrel/nats`: sagas on NATS. What a domain service needs, and the transport for an engine. Apart from the rest, so that
 * a service loads no engine, and a program without sagas no NATS.
 */
export type { StepLogLine, StepOutcome } from './completion.ts'
export { EffectFailed, type Once, type StepAnswer, type StepKeys } from './domain/keys.ts'
export { postgresKeys, type SqlClient, type SqlPool } from './domain/postgres-keys.ts'
export { type PublishOptions, publishStepCompletion, type StepCompletion } from './domain/publish.ts'
export { type SyncDatabase, sqliteKeys } from './domain/sqlite-keys.ts'
export {
  accepted,
  NoAnswer,
  type StepCommand,
  type StepConsumer,
  type StepConsumerOptions,
  type StepHandler,
  stepConsumer,
  withWarnings,
} from './domain/step-consumer.ts'
export { openSagaTransport, type SagaTransport, type SagaTransportOptions } from './open.ts'
