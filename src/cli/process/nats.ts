/** Sagas on NATS, for long-running processes and for `run`. */
import { type Command, Option } from 'commander'
import type { Saga } from '../../client/saga.ts'
import type { EngineApi } from '../../engine/api.ts'
import type { Logger } from '../../kernel/logger.ts'
import { CONTROL_REACHES, type ControlReach } from '../../notations/saga/nats/names.ts'

export interface NatsOptions {
  readonly nats?: string
  readonly natsCreds?: string
  readonly natsPrefix?: string
  readonly natsControl?: ControlReach
}

export function natsOptions(command: Command): Command {
  return command
    .addOption(new Option('--nats <url>', 'sagas on NATS: nats://host:4222, several by comma').env('PETREL_NATS_URL'))
    .addOption(new Option('--nats-creds <file>', 'credentials of a user of NATS').env('PETREL_NATS_CREDS'))
    .addOption(
      new Option('--nats-prefix <prefix>', 'prefix of every subject, if deployments share the account').env(
        'PETREL_NATS_PREFIX',
      ),
    )
    .addOption(
      new Option('--nats-control <reach>', 'what requests on NATS reach: each tenant its own, all, or none')
        .choices(CONTROL_REACHES)
        .default('tenant')
        .env('PETREL_NATS_CONTROL'),
    )
}

/** For display: without user and password. null: there is none. */
export function shownNats({ nats }: NatsOptions): string | null {
  return nats === undefined ? null : nats.replace(/\/\/[^@/,]*@/g, '//***@')
}

export async function sagasLine(options: NatsOptions, sagas: SagaService | null): Promise<string | null> {
  const url = shownNats(options)
  if (url === null) return null
  if ((await sagas?.connected()) === true) return `sagas on ${url}`
  return `sagas on ${url}, ${sagas?.problem() === null ? 'which does not answer yet' : 'which has no JetStream'}`
}

export interface SagaService {
  /** Whether NATS is connected: resolves as soon as it is, or after a moment. */
  connected(): Promise<boolean>
  /** The known problem, in a sentence. */
  problem(): string | null
  stop(params: { readonly graceMs: number }): Promise<void>
}

/** NATS may become available later; starting a process should not wait for it. */
const SOON_MS = 2_000
/** Commands built at the same time: building one takes a moment, and waiting for its answer takes no slot. */
const CONCURRENCY = 50

/**
 * Transports commands and answers, and builds the commands: of deployed files, and of the sagas in a module. null:
 * there is neither NATS nor a saga.
 */
export async function serveSagas(
  engine: EngineApi,
  { nats, natsCreds, natsPrefix, natsControl }: NatsOptions,
  { sagas, logger }: { readonly sagas: readonly Saga[]; readonly logger: Logger | null },
): Promise<SagaService | null> {
  if (nats === undefined && sagas.length === 0) return null
  const [{ petrelOn }, { SAGA_QUEUE }] = await Promise.all([
    import('../../client/petrel.ts'),
    import('../../notations/saga/runtime/program.ts'),
  ])
  const petrel = petrelOn(engine, logger === null ? {} : { logger })
  for (const saga of sagas) await petrel.saga(saga as Saga<never>)
  if (nats !== undefined) await petrel.saga()
  const transport =
    nats === undefined ? null : await openTransport(engine, { nats, natsCreds, natsPrefix, natsControl }, logger)
  const worker = await petrel.work({ queues: [SAGA_QUEUE], concurrency: CONCURRENCY })
  return {
    connected: () => soon(transport?.ready ?? null),
    problem: () => transport?.problem ?? null,
    stop: async ({ graceMs }) => {
      await transport?.close()
      await worker.stop({ graceMs })
    },
  }
}

async function openTransport(
  engine: EngineApi,
  {
    nats,
    natsCreds,
    natsPrefix,
    natsControl,
  }: { [K in keyof NatsOptions]: NatsOptions[K] | undefined } & {
    readonly nats: string
  },
  logger: Logger | null,
) {
  const { openSagaTransport } = await import('../../notations/saga/nats/open.ts')
  return openSagaTransport({
    engine,
    url: nats,
    ...(natsCreds === undefined ? {} : { credentials: natsCreds }),
    ...(natsPrefix === undefined ? {} : { prefix: natsPrefix }),
    ...(natsControl === undefined ? {} : { control: natsControl }),
    ...(logger === null ? {} : { logger }),
  })
}

async function soon(ready: Promise<void> | null): Promise<boolean> {
  if (ready === null) return false
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), SOON_MS)
  })
  const there = await Promise.race([ready.then(() => true as const), late])
  clearTimeout(timer)
  return there
}
