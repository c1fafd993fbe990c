/**
 * A process that stays: engine, perhaps a server, perhaps a worker, until SIGINT or SIGTERM. Going down, the server
 * stops answering first, then the worker lets what it holds end, then engine and store close: whatever was not
 * recorded by then is handed out again by whoever is left, or at the next start.
 */
import type { EngineApi } from '../engine/api.ts'
import { PetrelError } from '../engine/errors.ts'
import type { Server, ServerOptions } from '../server/server.ts'
import type { Handlers } from '../worker/handlers.ts'
import type { Worker } from '../worker/worker.ts'
import type { Shared } from './act.ts'
import { connect } from './connect.ts'
import { CliError } from './failure.ts'
import { serviceLogger } from './logger.ts'
import { packageVersion } from './version.ts'

export type HttpParams = Omit<ServerOptions, 'engine' | 'version' | 'logger'> & { readonly host: string }

export interface ServiceOptions {
  readonly shared: Shared
  readonly http: HttpParams | null
  readonly work: {
    readonly handlers: Handlers
    readonly concurrency?: number
    readonly queues?: readonly string[]
    readonly name?: string
  } | null
  readonly graceMs: number
}

export interface Service {
  readonly engine: EngineApi
  readonly server: Server | null
  readonly worker: Worker | null
  stop(): Promise<void>
}

export async function startService({ shared, http, work, graceMs }: ServiceOptions): Promise<Service> {
  const logger = await serviceLogger()
  const serverModule = http === null ? null : import('../server/server.ts')
  const workerModule = work === null ? null : import('../worker/worker.ts')
  // Fails here, if at all; told where it is awaited.
  serverModule?.catch(() => {})
  const engine = await connect(shared, { create: true, engine: { logger } })
  let server: Server | null = null
  let worker: Worker | null = null
  const stop = async (): Promise<void> => {
    await server?.close({ graceMs })
    await worker?.stop({ graceMs })
    await engine.close()
    await engine.store.close()
  }
  try {
    if (http !== null && serverModule !== null) {
      const { startServer } = await serverModule
      server = await listening(startServer({ engine, version: packageVersion(), ...http, logger }), http)
    }
    if (work !== null && workerModule !== null) {
      const { Worker } = await workerModule
      worker = await Worker.start(engine.workers, { ...work, logger })
    }
  } catch (error) {
    await stop()
    throw error
  }
  return { engine, server, worker, stop }
}

async function listening(
  starting: Promise<Server>,
  { port, host }: { readonly port: number; readonly host: string },
): Promise<Server> {
  try {
    return await starting
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof PetrelError && error.details['reason'] === 'no_keys') {
      throw new CliError(
        'denied',
        error.message,
        '`petrel keys add --subject NAME --scope admin` makes one; --host 127.0.0.1 needs none; --insecure lets everyone in',
        { host },
      )
    }
    if (code === 'EADDRINUSE') {
      throw new CliError(
        'invalid_request',
        `port ${port} is taken by another process`,
        `name a free one: --port ${port === 65535 ? 7071 : port + 1}, or --port 0 for any`,
        { port },
      )
    }
    if (code === 'EACCES')
      throw new CliError(
        'invalid_request',
        `port ${port} may not be used by this user`,
        'name one above 1023 with --port',
        { port },
      )
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
      throw new CliError(
        'invalid_request',
        `this machine has no address ${host}`,
        '--host 127.0.0.1 for this machine alone, 0.0.0.0 for all of its addresses',
        { host },
      )
    }
    throw error
  }
}
