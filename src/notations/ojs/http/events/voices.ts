/**
 * Under which names each caller has asked for work. Official clients name their worker when they fetch and when they
 * beat, not when they report: a report that could come from two workers is attributed by its caller, which is an
 * address together with a key. A caller that has acted for several workers proves nothing: any of them may report.
 */
import type { FastifyRequest } from 'fastify'
import { callerKey } from '../../../../http/caller.ts'
import { unscopedName } from '../../../../kernel/scoped-names.ts'
import type { Speaker } from '../../../../model/leases.ts'

/** A worker that lost a lease may come back after a long time; then its name must still be known. */
const REMEMBERED_MS = 24 * 60 * 60 * 1000
const CALLERS = 10_000
/** More than one is as good as many. */
const ENOUGH = 2

export class Voices {
  /** By caller: names, and when each was last heard. */
  readonly #heard = new Map<string, Map<string, number>>()

  /** A fetch or a heartbeat names its worker. */
  hear(request: FastifyRequest, worker: string): void {
    const caller = nameOf(request)
    const names = this.#heard.get(caller) ?? new Map<string, number>()
    this.#heard.delete(caller)
    if (this.#heard.size >= CALLERS) this.#heard.delete(this.#heard.keys().next().value as string)
    this.#heard.set(caller, names)
    const now = performance.now()
    if (!names.has(worker)) for (const [name, at] of names) if (now - at > REMEMBERED_MS) names.delete(name)
    if (names.has(worker) || names.size < ENOUGH) names.set(worker, now)
  }

  speakerOf(request: FastifyRequest): Speaker {
    const names = [...(this.#heard.get(nameOf(request))?.keys() ?? [])]
    return { name: names.length === 1 ? (names[0] as string) : null, knows: (worker) => this.#knows(worker) }
  }

  #knows(worker: string): boolean {
    for (const names of this.#heard.values()) {
      for (const name of names.keys()) if (unscopedName(name) === worker) return true
    }
    return false
  }
}

function nameOf(request: FastifyRequest): string {
  return `${request.ip} ${callerKey(request)}`
}
