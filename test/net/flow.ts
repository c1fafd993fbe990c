/**
 * The forward phase of the oracle: tokens, joins, admission, scopes, each, arcs. Tokens, scopes and pieces of work are objects
 * in lists that only grow; whatever is counted is counted in those lists, when it is asked for.
 *
 * Movement: one queue of arriving tokens, first in first out; a scope closes at once when its last token has ended.
 */
import type { DrainReason, Phase } from '../../src/net/marking.ts'
import type { Arc, Final, Json, Net, Node, Work } from '../../src/net/net.ts'
import { evaluateExpression, renderTemplate, truthy } from './expression.ts'

export interface Token {
  at: Node
  args: Json | null
  scope: FlowScope
  /** moving: in the queue; busy: stands at work or for a scope; held: denied by admission; gone: ended or absorbed. */
  state: 'moving' | 'busy' | 'held' | 'gone'
}

export interface FlowScope {
  readonly kind: 'root' | 'fork' | 'each'
  readonly parent: FlowScope | null
  /** The token that stands for the scope in its parent. */
  readonly owner: Token | null
  readonly continuation: string | null
  arrived: number
  closed: boolean
  readonly items: Item[]
  readonly firing: Firing | null
}

interface Item {
  readonly index: number
  readonly value: Json
  state: 'waiting' | 'open' | 'done' | 'dropped'
  failed: boolean
}

/** One firing of a node. `nth` counts, per node, the firings that opened work: an identity that needs no global number. */
interface Firing {
  readonly node: Node
  nth: number | null
}

export interface Piece {
  readonly kind: 'run' | 'gate' | 'child'
  readonly node: Node
  readonly firing: Firing
  readonly nth: number
  readonly item: number
  readonly role: 'work' | 'undo' | 'final'
  readonly args: Json | null
  readonly token: Token | null
  readonly scope: FlowScope | null
  readonly final: Final | null
  /** The gate of an appeal: the work it is about. */
  readonly about: Piece | null
  started: boolean
  /** Done once more by the net's policy, or instead of what failed. */
  second: boolean
  /**
   * open, or how it ended; appealed: people are asked; replaced: fired anew; withdrawn: cancelled or closed by drain;
   * abandoned: still out when the instance ended.
   */
  state: 'open' | 'succeeded' | 'failed' | 'unknown' | 'cancelled' | 'appealed' | 'replaced' | 'withdrawn' | 'abandoned'
}

export function templateOf(work: Work): Json | null {
  return (work.kind === 'run' ? work.args : work.kind === 'child' ? work.input : null) ?? null
}

/** Thrown where an expression failed, after the drain it causes. */
export class Stop extends Error {}

export abstract class Flow {
  phase: Phase = 'forward'
  readonly pieces: Piece[] = []
  readonly tokens: Token[] = []
  readonly scopes: FlowScope[] = []
  readonly detached: string[] = []
  context: ReadonlyMap<string, Json> = new Map()
  unhandled = 0
  /** What this instance went through, in words: for coverage only. */
  readonly seen = new Set<string>()

  protected readonly net: Net
  protected readonly root: FlowScope
  protected queue: Token[] = []
  readonly #items: { readonly [node: string]: readonly Json[] }
  readonly #held: Token[] = []
  #contextChanged = false
  readonly #counts = new Map<string, number>()
  readonly #firings = new Map<string, number>()
  readonly #fired = new Set<string>()

  constructor(net: Net, items: { readonly [node: string]: readonly Json[] }) {
    this.net = net
    this.#items = items
    this.root = this.#newScope({ kind: 'root', parent: null, owner: null, continuation: null, firing: null })
  }

  protected abstract drain(reason: DrainReason): void

  open(): Piece[] {
    return this.pieces.filter((piece) => piece.state === 'open')
  }

  succeeded(): number {
    return this.#works().filter((piece) => piece.state === 'succeeded').length
  }

  failed(): number {
    const failed = ['failed', 'unknown', 'cancelled']
    return this.#works().filter((piece) => failed.includes(piece.state)).length
  }

  /** An appeal is about work, and none itself. */
  #works(): Piece[] {
    return this.pieces.filter((piece) => piece.role === 'work' && piece.about === null)
  }

  held(): number {
    return this.tokens.filter((token) => token.state === 'held').length
  }

  live(scope: FlowScope = this.root): number {
    if (scope.kind === 'each')
      return scope.items.filter((item) => item.state === 'waiting' || item.state === 'open').length
    return this.tokens.filter((token) => token.scope === scope && token.state !== 'gone').length
  }

  openScopes(): FlowScope[] {
    return this.scopes.filter((scope) => scope.kind !== 'root' && !scope.closed)
  }

  // ---- tokens -------------------------------------------------------------------------------------------------

  #newScope(scope: Omit<FlowScope, 'arrived' | 'closed' | 'items'>): FlowScope {
    const made = { ...scope, arrived: 0, closed: false, items: [] }
    this.scopes.push(made)
    return made
  }

  protected node(key: string): Node {
    return this.net.nodes.find((node) => node.key === key)!
  }

  protected send(to: string, args: Json | null, scope: FlowScope): void {
    const token: Token = { at: this.node(to), args, scope, state: 'moving' }
    this.tokens.push(token)
    this.queue.push(token)
  }

  protected move(): void {
    while (this.phase === 'forward') {
      this.#closeEmptyScopes()
      const next = this.queue.shift()
      if (next !== undefined) this.#arrive(next)
      else if (this.phase !== 'forward') return
      else if (this.#contextChanged && this.#held.length > 0) {
        this.#contextChanged = false
        this.#tryHeld()
      } else if (this.net.held === 'complete' && this.#held.length > 0 && this.open().length === 0) {
        this.#discardHeld()
      } else return
    }
  }

  /** A scope closes when its last token has ended; that may be the last one of the scope around it. */
  #closeEmptyScopes(): void {
    const empty = () => this.openScopes().find((scope) => this.live(scope) === 0)
    for (let scope = empty(); scope !== undefined && this.phase === 'forward'; scope = empty()) this.#close(scope)
  }

  #tryHeld(): void {
    for (const token of [...this.#held]) {
      if (this.phase !== 'forward') return
      if (!this.#admits(token)) continue
      this.#held.splice(this.#held.indexOf(token), 1)
      token.state = 'moving'
      this.seen.add('held admitted')
      this.#fire(token)
      this.#closeEmptyScopes()
    }
  }

  #discardHeld(): void {
    this.seen.add('held discarded')
    for (const token of this.#held.splice(0)) {
      token.state = 'gone'
      this.#closeEmptyScopes()
    }
  }

  #arrive(token: Token): void {
    const node = token.at
    if (node.join === 'count') {
      const came = (this.#counts.get(node.key) ?? 0) + 1
      const incoming = this.net.nodes.flatMap((other) => other.next.arcs).filter((arc) => arc.to === node.key).length
      const full = came >= Math.max(1, incoming)
      this.#counts.set(node.key, full ? 0 : came)
      this.seen.add(full ? 'join count fires' : 'join count absorbs')
      if (!full) {
        token.state = 'gone'
        return
      }
    }
    if (node.join === 'scope') {
      for (let scope: FlowScope | null = token.scope; scope !== null; scope = scope.parent) {
        if (scope.continuation !== node.key) continue
        scope.arrived += 1
        this.seen.add(scope === token.scope ? 'join scope absorbs' : 'join scope absorbs into an outer scope')
        token.state = 'gone'
        return
      }
    }
    if (this.#admits(token)) return this.#fire(token)
    this.seen.add(`denied ${node.admit!.onDeny}`)
    if (node.admit!.onDeny === 'discard') {
      token.state = 'gone'
      return
    }
    token.state = 'held'
    this.#held.push(token)
  }

  #admits(token: Token): boolean {
    if (token.at.admit === null) return true
    for (const rule of token.at.admit.rules) {
      if (rule.when === null || this.#evaluate(() => this.#truth(rule.when!, token.args, null))) return rule.allow
    }
    return false
  }

  /** Instead of what failed: the same token, another firing. */
  protected fireAnew(token: Token): void {
    this.#fire(token)
    this.pieces.at(-1)!.second = true
  }

  #fire(token: Token): void {
    token.state = 'busy'
    const { work, join } = token.at
    this.seen.add(`join ${join}`)
    this.seen.add(work.kind === 'child' ? `node child ${work.mode}` : `node ${work.kind}`)
    if (this.#fired.has(token.at.key)) this.seen.add('fired again')
    this.#fired.add(token.at.key)
    const firing: Firing = { node: token.at, nth: null }
    if (work.kind === 'each') return this.#fireEach(token, firing)
    if (work.kind === 'pass') return this.route(token, 'succeeded')
    if (work.kind === 'child' && work.mode === 'detached') {
      this.detached.push(`${token.at.key} ${JSON.stringify(this.#payload(work, token.args))}`)
      return this.route(token, 'succeeded')
    }
    const args = this.#payload(work, token.args)
    this.openPiece(work, { firing, item: -1, role: 'work', args, token, scope: null, final: null })
  }

  /** The work's own arguments, rendered when it is opened; without any, those of the token. */
  #payload(work: Work, args: Json | null, item: Json = null): Json | null {
    const template = templateOf(work)
    if (template === null) return args
    return this.#evaluate(() => renderTemplate(template, { ...this.names(args, null), item }))
  }

  protected openPiece(
    work: Work,
    piece: Pick<Piece, 'firing' | 'item' | 'role' | 'args' | 'token' | 'scope' | 'final'>,
    about: Piece | null = null,
  ): void {
    const { firing } = piece
    const kind = work.kind as 'run' | 'gate' | 'child'
    const label = `${about === null ? (piece.role === 'final' ? 'final' : 'work') : 'appeal'} ${firing.node.key}`
    if (firing.nth === null) {
      firing.nth = this.#firings.get(label) ?? 0
      this.#firings.set(label, firing.nth + 1)
    }
    const { node, nth } = firing
    this.pieces.push({ ...piece, kind, node, nth, about, started: false, second: false, state: 'open' })
  }

  // ---- each ---------------------------------------------------------------------------------------------------

  #fireEach(token: Token, firing: Firing): void {
    const work = token.at.work
    if (work.kind !== 'each') return
    const values = work.items === null ? (this.#items[token.at.key] ?? []) : this.#list(work.items, token.args)
    const issue = work.maxInFlight === null ? 'eager' : 'cursor'
    const of = work.body === null ? 'named work' : work.body.kind
    this.seen.add(`each ${work.items === null ? 'literal' : 'expression'} of ${of}`)
    this.seen.add(values.length === 0 ? 'each empty' : `each ${issue}${work.failFast ? ' failFast' : ''}`)
    if (values.length === 0) return this.route(token, 'succeeded')
    const scope = this.#newScope({
      kind: 'each',
      parent: token.scope,
      owner: token,
      continuation: null,
      firing,
    })
    for (const [index, value] of values.entries()) scope.items.push({ index, value, state: 'waiting', failed: false })
    this.issue(scope)
  }

  protected issue(scope: FlowScope): void {
    const token = scope.owner!
    const work = token.at.work
    if (work.kind !== 'each') return
    const inFlight = () => scope.items.filter((item) => item.state === 'open').length
    for (const item of scope.items) {
      if (item.state !== 'waiting') continue
      if (work.failFast && scope.items.some((other) => other.failed)) {
        item.state = 'dropped'
        this.seen.add('each failFast drops')
      } else if (work.maxInFlight === null || inFlight() < work.maxInFlight) {
        item.state = 'open'
        const named = item.value as { readonly child?: Json }
        const body = work.body ?? ({ kind: named.child === undefined ? 'run' : 'child' } as Work)
        this.openPiece(body, {
          firing: scope.firing!,
          item: item.index,
          role: 'work',
          args: this.#payload(body, token.args, item.value),
          token: null,
          scope,
          final: null,
        })
      }
    }
  }

  #close(scope: FlowScope): void {
    scope.closed = true
    const token = scope.owner!
    if (scope.kind === 'each') {
      if (scope.items.some((item) => item.failed)) this.nodeFailed(token)
      else this.route(token, 'succeeded')
      return
    }
    token.state = 'gone'
    this.seen.add(scope.arrived > 0 ? 'scope goes on' : 'scope ends')
    if (scope.parent!.kind === 'fork') this.seen.add('scope nested')
    if (scope.arrived > 0) this.send(scope.continuation!, null, token.scope)
  }

  protected nodeFailed(token: Token): void {
    const policy = token.at.onFailure === 'net' ? this.net.onFailure : token.at.onFailure
    this.seen.add(`onFailure ${token.at.onFailure}`)
    if (policy === 'abort' || policy === 'retry') this.drain('failure')
    else if (policy === 'compensate') this.drain('compensate')
    else this.route(token, policy === 'skip' ? 'skipped' : 'failed')
  }

  // ---- arcs ---------------------------------------------------------------------------------------------------

  protected route(token: Token, status: 'succeeded' | 'skipped' | 'failed'): void {
    const { arcs, mode, scope: continuation } = token.at.next
    const chosen: Arc[] = []
    for (const arc of arcs) {
      if (mode === 'first' && chosen.length > 0) break
      if (arc.when === null || this.#evaluate(() => this.#truth(arc.when!, token.args, status))) chosen.push(arc)
    }
    const taken: { to: string; args: Json | null }[] = []
    for (const arc of chosen) {
      if (arc.set !== null) this.write(this.#evaluate(() => this.#render(arc.set!, token.args, status)))
      const args = arc.args === null ? null : this.#evaluate(() => this.#render(arc.args!, token.args, status))
      taken.push({ to: arc.to, args })
    }
    const guardedTaken = chosen.some((arc) => arc.when !== null)
    if (arcs.length > 1) this.seen.add(`mode ${mode}`)
    if (taken.length > 1) this.seen.add('split')
    if (status === 'failed') this.seen.add(guardedTaken ? 'failure handled' : 'failure unhandled')
    if (status === 'failed' && !guardedTaken) this.unhandled += 1
    if (taken.length === 0) {
      token.state = 'gone'
      if (arcs.length > 0 && status !== 'failed' && this.net.noMatch === 'fail') {
        this.seen.add('no match')
        this.drain('failure')
      }
      return
    }
    let scope = token.scope
    if (continuation === null) token.state = 'gone'
    else {
      scope = this.#newScope({
        kind: 'fork',
        parent: token.scope,
        owner: token,
        continuation,
        firing: null,
      })
    }
    for (const { to, args } of taken) this.send(to, args, scope)
  }

  protected write(set: { readonly [name: string]: Json }): void {
    this.context = new Map([...this.context, ...Object.entries(set)])
    this.#contextChanged = true
  }

  protected names(args: Json | null, status: string | null) {
    return { ctx: Object.fromEntries(this.context), args, event: { status } }
  }

  #truth(source: string, args: Json | null, status: string | null): boolean {
    return truthy(evaluateExpression(source, this.names(args, status)))
  }

  #render(template: { readonly [name: string]: Json }, args: Json | null, status: string): { [name: string]: Json } {
    return renderTemplate(template, this.names(args, status)) as { [name: string]: Json }
  }

  #list(source: string, args: Json | null): readonly Json[] {
    return this.#evaluate(() => {
      const value = evaluateExpression(source, this.names(args, null))
      if (!Array.isArray(value)) throw new Error('not a list')
      return value
    })
  }

  /** What cannot be evaluated drains the instance. */
  #evaluate<T>(compute: () => T): T {
    try {
      return compute()
    } catch {
      this.seen.add('guard error')
      this.drain('failure')
      throw new Stop()
    }
  }
}
