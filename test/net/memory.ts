/** The state of an instance in the oracle, its counters, and what expressions can read of it. */
import type { DrainReason, Phase } from '../../src/net/marking.ts'
import type { Json, Net, Node } from '../../src/net/net.ts'
import { evaluateExpression, renderTemplate, truthy } from './expression.ts'
import { type Account, type Cause, type Firing, type FlowScope, NOTHING_YET, type Piece, type Token } from './pieces.ts'
import { eventResult, resultOf } from './results.ts'
import { INSTANCE } from './world.ts'

/** Thrown by a failed expression, after the drain it causes. */
export class Stop extends Error {}

export type Status = 'succeeded' | 'skipped' | 'failed'

/** What expressions can read besides the context and results. */
export interface Around {
  readonly args: Json | null
  readonly event?: { readonly firing: Firing; readonly status: Status }
  readonly item?: { readonly index: number; readonly total: number; readonly as: string | null; readonly value: Json }
  /** The result of a late success, which is recorded nowhere else. */
  readonly late?: { readonly node: Node; readonly result: Json }
}

export abstract class Memory {
  phase: Phase = 'forward'
  readonly pieces: Piece[] = []
  readonly tokens: Token[] = []
  /** The first is the root. */
  readonly scopes: FlowScope[] = []
  account: Account = NOTHING_YET
  /** The kinds of events in this instance: for coverage only. */
  readonly seen = new Set<string>()

  readonly net: Net
  protected justEnded: Piece | null = null
  protected contextChanged = false

  constructor(net: Net) {
    this.net = net
  }

  protected abstract drain(reason: DrainReason, cause: Cause): void
  /** All consequences of this happening, except the work that ended. */
  protected abstract takeBack(): void

  open(): Piece[] {
    return this.pieces.filter((piece) => piece.state === 'open')
  }

  succeeded(): number {
    return this.works().filter((piece) => piece.state === 'succeeded').length
  }

  failed(): number {
    const failed = ['failed', 'unknown', 'cancelled']
    return this.works().filter((piece) => failed.includes(piece.state)).length
  }

  /** An appeal refers to work, and has no appeal itself. */
  protected works(): Piece[] {
    return this.pieces.filter((piece) => piece.role === 'work' && piece.about === null)
  }

  held(): number {
    return this.tokens.filter((token) => token.state === 'held').length
  }

  live(scope: FlowScope = this.scopes[0]!): number {
    if (scope.kind === 'each')
      return scope.items.filter((item) => item.state === 'waiting' || item.state === 'open').length
    return this.tokens.filter((token) => token.scope === scope && token.state !== 'gone').length
  }

  openScopes(): FlowScope[] {
    return this.scopes.filter((scope) => scope.kind !== 'root' && !scope.closed)
  }

  // ---- counters -----------------------------------------------------------------------------------------------

  protected write(set: { readonly [name: string]: Json }): void {
    this.put({ context: new Map([...this.account.context, ...Object.entries(set)]) })
    this.contextChanged = true
  }

  protected noteFailure({ node, code }: Cause, handled: boolean): void {
    this.put({ failures: [...this.account.failures, { step: node, code, handled }] })
  }

  protected keepError(error: Cause): void {
    this.put({ error })
  }

  protected put(change: Partial<Account>): void {
    this.account = { ...this.account, ...change }
  }

  protected branchEnds(): void {
    this.put({ branches: this.account.branches + 1 })
  }

  // ---- expressions --------------------------------------------------------------------------------------------

  /** Every available name; values are computed when the expression reads them. */
  protected names({ args, event, item, late }: Around): { readonly [name: string]: Json } {
    const { pieces, account, justEnded } = this
    const remembered = { pieces, account, justEnded }
    const result = (key: string): Json => {
      const node = this.net.nodes.find((other) => other.key === key)
      if (node === undefined) return null
      return node === late?.node ? late.result : resultOf(node, remembered)
    }
    const known: Record<string, () => Json> = {
      ctx: () => Object.fromEntries(account.context),
      args: () => args,
      event: () => ({
        status: event?.status ?? null,
        kind: event?.firing.node.work.kind ?? null,
        result: event === undefined ? null : eventResult(event.firing, event.status, remembered),
      }),
      results: () => Object.fromEntries(this.net.nodes.map(({ key }) => [key, result(key)])),
      $place: () => {
        if (item === undefined) return { instance: INSTANCE }
        return { instance: INSTANCE, index: item.index, total: item.total, as: item.as }
      },
      item: () => item?.value ?? null,
      ...(item?.as == null ? {} : { [item.as]: () => item.value }),
    }
    return new Proxy({}, { get: (_, name: string) => (known[name] ?? (() => result(name)))() })
  }

  protected truth(node: Node, source: string, around: Around): boolean {
    return this.#evaluate(node, () => truthy(evaluateExpression(source, this.names(around))))
  }

  protected render(node: Node, template: Json, around: Around): Json {
    return this.#evaluate(node, () => renderTemplate(template, this.names(around)))
  }

  protected entries(
    node: Node,
    template: { readonly [name: string]: Json },
    around: Around,
  ): { readonly [name: string]: Json } {
    return this.render(node, template, around) as { readonly [name: string]: Json }
  }

  protected list(node: Node, source: string, around: Around): readonly Json[] {
    return this.#evaluate(node, () => {
      const value = evaluateExpression(source, this.names(around))
      if (!Array.isArray(value)) throw new Error('not a list')
      return value
    })
  }

  protected room(node: Node, source: string, around: Around): number {
    return this.#evaluate(node, () => {
      const value = evaluateExpression(source, this.names(around))
      if (typeof value !== 'number' || value < 1 || value % 1 !== 0) throw new Error('not a number of items')
      return value
    })
  }

  /** An expression that cannot be evaluated drains the instance. */
  #evaluate<T>(node: Node, compute: () => T): T {
    try {
      return compute()
    } catch {
      this.seen.add('guard error')
      this.takeBack()
      this.drain('failure', { code: 'guard_error', node: node.key })
      throw new Stop()
    }
  }
}
