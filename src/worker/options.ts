/** Settings of a worker, and their defaults. */

import { hostname } from 'node:os'
import { PetrelError } from '../kernel/errors.ts'
import { MAX_BUILD_LENGTH, MAX_JSON_BYTES } from '../kernel/limits.ts'
import type { Logger } from '../kernel/logger.ts'
import type { Handlers } from './handlers.ts'

export interface WorkerOptions {
  readonly handlers: Handlers
  /** Runs executing at the same time. Default 10. */
  readonly concurrency?: number
  /** null (default): all queues. */
  readonly queues?: readonly string[] | null
  /** Default: host and process id. */
  readonly name?: string
  /** Only the runs of this tenant. null (default): those of all. */
  readonly tenant?: string | null
  /**
   * The registry's name for this kind of worker: of the types it lists, those of this runtime are taken. Default node.
   */
  readonly runtime?: string
  /**
   * Which build of the program this is, such as a version or a commit: shown with the worker, its executions and their failures.
   * Default: PETREL_WORKER_BUILD; null: none.
   */
  readonly build?: string | null
  /** Runs are fetched for about this long in advance. Default 50; 0: never in advance. */
  readonly prefetchMs?: number
  /** Most runs fetched in advance. Default 500. */
  readonly maxPrefetch?: number
  /** Interval of the poll behind every wake-up. Default 2,000. */
  readonly pollMs?: number
  /** Longest result, in bytes of JSON. Default 1 MiB. */
  readonly maxResultBytes?: number
  readonly logger?: Logger
}

export type WorkerSettings = Required<WorkerOptions>

const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export function settingsOf(options: WorkerOptions): WorkerSettings {
  const settings: WorkerSettings = {
    handlers: options.handlers,
    concurrency: options.concurrency ?? 10,
    queues: options.queues ?? null,
    name: options.name ?? `${hostname()}:${process.pid}`,
    tenant: options.tenant ?? null,
    runtime: options.runtime ?? 'node',
    build: (options.build === undefined ? process.env['PETREL_WORKER_BUILD'] : options.build) || null,
    prefetchMs: options.prefetchMs ?? 50,
    maxPrefetch: options.prefetchMs === 0 ? 0 : (options.maxPrefetch ?? 500),
    pollMs: options.pollMs ?? 2_000,
    maxResultBytes: options.maxResultBytes ?? MAX_JSON_BYTES,
    logger: options.logger ?? SILENT,
  }
  whole('concurrency', settings.concurrency, 1)
  whole('maxPrefetch', settings.maxPrefetch, 0)
  whole('prefetchMs', settings.prefetchMs, 0)
  whole('pollMs', settings.pollMs, 1)
  whole('maxResultBytes', settings.maxResultBytes, 65_536)
  const { build } = settings
  if (build !== null && (build.length > MAX_BUILD_LENGTH || /\p{Cc}/u.test(build) || !build.isWellFormed())) {
    throw new PetrelError('invalid_request', `build: one line of 1 to ${MAX_BUILD_LENGTH} characters`)
  }
  if (settings.queues !== null && settings.queues.length === 0) {
    throw new PetrelError('invalid_request', 'queues: name at least one, or leave it out for all')
  }
  return settings
}

function whole(name: string, value: number, least: number): void {
  if (Number.isInteger(value) && value >= least) return
  throw new PetrelError('invalid_request', `${name}: a whole number of at least ${least}, not ${String(value)}`)
}
