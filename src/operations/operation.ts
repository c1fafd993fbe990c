/**
 * A use case: the access it requires, and its implementation. HTTP, the command line and NATS all perform operations,
 * and none of them calls the engine in another way, so scopes and tenants are checked here and nowhere else.
 */
import type { EngineApi } from '../engine/api.ts'
import type { Logger } from '../kernel/logger.ts'
import { type Access, type Caller, permit } from './caller.ts'
import { Changes } from './events/changes.ts'
import { InstanceWatch } from './instances/watch.ts'
import { SharedOverview } from './overview/shared.ts'
import { Bounds } from './queues/bounds.ts'
import { ArgumentChecks } from './schemas/argument-checks.ts'

/** The services available to operations. */
export interface Services {
  readonly engine: EngineApi
  readonly logger: Logger | null
  readonly watch: InstanceWatch
  readonly changes: Changes
  readonly argumentChecks: ArgumentChecks
  readonly bounds: Bounds
  readonly shared: SharedOverview
}

export interface Use extends Services {
  readonly caller: Caller
}

export interface Operation<P, R> {
  /** 'none': any caller, since the argument itself is the permission. */
  readonly access: Access | 'none'
  /** Also hides items of other tenants. */
  readonly run: (use: Use, params: P) => Promise<R>
}

export function operation<P, R>(access: Access | 'none', run: Operation<P, R>['run']): Operation<P, R> {
  return { access, run }
}

/** Performs operations for one caller. */
export type Perform = <P, R>(operation: Operation<P, R>, params: P) => Promise<R>

export class Operations {
  readonly #services: Services

  constructor({
    engine,
    logger,
  }: {
    readonly engine: EngineApi
    readonly logger: Logger | null
  }) {
    const watch = new InstanceWatch(engine.queries)
    const argumentChecks = new ArgumentChecks({ schemaByUri: (uri) => engine.records.settings.schemaByUri(uri) })
    this.#services = {
      engine,
      logger,
      watch,
      changes: new Changes(engine.queries),
      bounds: new Bounds(engine),
      shared: new SharedOverview(engine),
      argumentChecks,
    }
  }

  async perform<P, R>(caller: Caller, { access, run }: Operation<P, R>, params: P): Promise<R> {
    if (access !== 'none') permit(caller, access)
    return run({ ...this.#services, caller }, params)
  }

  for(caller: Caller): Perform {
    return (operation, params) => this.perform(caller, operation, params)
  }
}
