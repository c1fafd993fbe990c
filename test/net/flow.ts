/**
 * The forward phase of the oracle: joins, admission, scopes, each, arcs.
 * Movement: one queue of arriving tokens, first in first out; a scope closes at once when its last token has ended.
 */
import { inOrder } from '../../src/net/json.ts'
import type { Arc, EachWork, Json, Net, Node, Work } from '../../src/net/net.ts'
import { type Around, Memory, type Status } from './memory.ts'
import { type Cause, type Firing, type FlowScope, type Piece, type Token, templateOf } from './pieces.ts'

export abstract class Flow extends Memory {
  protected readonly root: FlowScope
  protected queue: Token[] = []
  readonly #items: { readonly [node: string]: readonly Json[] }
  readonly #held: Token[] = []
  readonly #counts = new Map<string, number>()
  readonly #firings = new Map<string, number>()
  readonly #fired = new Set<string>()

  constructor(net: Net, items: { readonly [node: string]: readonly Json[] }) {
    super(net)
    this.#items = items
    this.root = this.#newScope({ kind: 'root', parent: null, owner: null, continuation: null, firing: null })
  }

  // ---- tokens -------------------------------------------------------------------------------------------------

  #newScope(
    scope: Pick<FlowScope, 'kind' | 'parent' | 'owner' | 'continuation' | 'firing'> & Partial<FlowScope>,
  ): FlowScope {
    const made = { max: null, shared: null, ...scope, arrived: 0, closed: false, items: [] }
    this.scopes.push(made)
    return made
  }

  protected node(key: string): Node {
    return this.net.nodes.find((node) => node.key === key)!
  }

  protected send(to: string, args: Json | null, scope: FlowScope): void {
    const token: Token = { at: this.node(to), args, scope, state: 'moving', firing: null }
    this.tokens.push(token)
    this.queue.push(token)
  }

  protected move(): void {
    while (this.phase === 'forward') {
      this.#closeEmptyScopes()
      const next = this.queue.shift()
      if (next !== undefined) this.#arrive(next)
      else if (this.phase !== 'forward') return
      else if (this.contextChanged && this.#held.length > 0) {
        this.contextChanged = false
        this.#tryHeld()
      } else if (this.net.held === 'complete' && this.#held.length > 0 && this.open().length === 0) {
        this.#discardHeld()
      } else return
    }
  }

  /** A scope closes when its last token has ended, which may also be the last one of the enclosing scope. */
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
      this.branchEnds()
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
      return this.branchEnds()
    }
    token.state = 'held'
    this.#held.push(token)
  }

  #admits({ at, args }: Token): boolean {
    if (at.admit === null) return true
    for (const rule of at.admit.rules) {
      if (rule.when === null || this.truth(at, rule.when, { args })) return rule.allow
    }
    return false
  }

  /** Repeats a failed firing: the same token, another firing. */
  protected fireAnew(token: Token): void {
    this.#fire(token)
    this.pieces.at(-1)!.second = true
  }

  #fire(token: Token): void {
    const { at, args } = token
    token.state = 'busy'
    const { work, join } = at
    this.seen.add(`join ${join}`)
    this.seen.add(work.kind === 'child' ? `node child ${work.mode}` : `node ${work.kind}`)
    if (this.#fired.has(at.key)) this.seen.add('fired again')
    this.#fired.add(at.key)
    this.put({ steps: this.account.steps + 1 })
    const firing: Firing = { node: at, nth: null }
    token.firing = firing
    if (work.kind === 'each') return this.#fireEach(token, work, firing)
    if (work.kind === 'pass') return this.route(token, 'succeeded')
    const given = this.#payload(at, work, { args })
    if (work.kind === 'child' && work.mode === 'detached') {
      this.put({ detached: [...this.account.detached, `${at.key} ${JSON.stringify(inOrder(given))}`] })
      return this.route(token, 'succeeded')
    }
    this.openPiece(work, { firing, item: -1, role: 'work', args: given, token, scope: null, final: null })
  }

  /** The work's own arguments, rendered when it is opened; without any, those of the token. */
  #payload(node: Node, work: Work, around: Around): Json | null {
    const template = templateOf(work)
    return template === null ? around.args : this.render(node, template, around)
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
    this.pieces.push({ ...piece, kind, node, nth, about, started: false, second: false, endedAt: 0, state: 'open' })
  }

  // ---- each ---------------------------------------------------------------------------------------------------

  #fireEach(token: Token, work: EachWork, firing: Firing): void {
    const { at, args } = token
    const values = work.items === null ? (this.#items[at.key] ?? []) : this.list(at, work.items, { args })
    const max = typeof work.maxInFlight === 'string' ? this.room(at, work.maxInFlight, { args }) : work.maxInFlight
    const issue = max === null ? 'eager' : 'cursor'
    const of = work.body === null ? 'named work' : work.body.kind
    this.seen.add(`each ${work.items === null ? 'literal' : 'expression'} of ${of}`)
    this.seen.add(values.length === 0 ? 'each empty' : `each ${issue}${work.failFast ? ' failFast' : ''}`)
    if (typeof work.maxInFlight === 'string') this.seen.add('each cursor by expression')
    if (values.length === 0) return this.#closeEach(token, work, [])
    const shared = work.shared === undefined ? null : this.render(at, work.shared, { args })
    if (shared !== null) this.seen.add('each that shares')
    const about = { parent: token.scope, owner: token, continuation: null, firing, max, shared }
    const scope = this.#newScope({ kind: 'each', ...about })
    for (const [index, value] of values.entries()) scope.items.push({ index, value, state: 'waiting', failed: false })
    this.issue(scope)
  }

  protected issue(scope: FlowScope): void {
    const token = scope.owner!
    const { at } = token
    const work = at.work as EachWork
    const { max, items } = scope
    const inFlight = () => items.filter((item) => item.state === 'open').length
    for (const item of items) {
      if (item.state !== 'waiting') continue
      if (work.failFast && items.some((other) => other.failed)) {
        item.state = 'dropped'
        this.seen.add('each failFast drops')
      } else if (max === null || inFlight() < max) {
        item.state = 'open'
        const named = item.value as { readonly child?: Json }
        const body = work.body ?? ({ kind: named.child === undefined ? 'run' : 'child' } as Work)
        const as = work.as ?? null
        const place = { index: item.index, total: items.length, as, value: item.value }
        const own = this.#payload(at, body, { args: token.args, item: place })
        const itself = work.body?.kind === 'run' && work.body.args === null
        this.openPiece(body, {
          firing: scope.firing!,
          item: item.index,
          role: 'work',
          args:
            scope.shared === null ? (itself ? item.value : own) : { ...(scope.shared as object), ...(own as object) },
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
    if (scope.kind === 'each') return this.#closeEach(token, token.at.work as EachWork, scope.items)
    token.state = 'gone'
    this.seen.add(scope.arrived > 0 ? 'scope continues' : 'scope ends')
    if (scope.parent!.kind === 'fork') this.seen.add('scope nested')
    if (scope.arrived > 0) this.send(scope.continuation!, null, token.scope)
  }

  #closeEach(token: Token, work: EachWork, items: FlowScope['items']): void {
    const { at, firing } = token
    const failed = items.filter((item) => item.failed).length
    const dropped = items.filter((item) => item.state === 'dropped').length
    if (work.collect === 'list') {
      const closed = { firing: firing!, total: items.length, success: items.length - failed - dropped, failed }
      this.put({ lists: new Map([...this.account.lists, [at.key, closed]]) })
      this.seen.add(failed > 0 ? 'each that collects around failures' : 'each that collects')
    }
    if (failed === 0) return this.route(token, 'succeeded')
    const cause = { code: 'items_failed', node: at.key }
    if (work.tolerant !== true) return this.nodeFailed(token, cause)
    this.seen.add('each that tolerates')
    this.noteFailure(cause, true)
    this.route(token, 'succeeded')
  }

  protected nodeFailed(token: Token, cause: Cause): void {
    const policy = token.at.onFailure === 'net' ? this.net.onFailure : token.at.onFailure
    this.seen.add(`onFailure ${token.at.onFailure}`)
    if (policy === 'abort' || policy === 'retry') this.drain('failure', cause)
    else if (policy === 'compensate') this.drain('compensate', cause)
    else this.route(token, policy === 'skip' ? 'skipped' : 'failed', cause)
  }

  // ---- arcs ---------------------------------------------------------------------------------------------------

  protected route(token: Token, status: Status, cause: Cause | null = null): void {
    const { at, args } = token
    const { arcs, mode } = at.next
    const around: Around = { args, event: { firing: token.firing!, status } }
    if (status === 'succeeded' && at.set !== undefined) {
      this.seen.add('set of a node')
      this.write(this.entries(at, at.set, around))
    }
    const chosen: Arc[] = []
    for (const arc of arcs) {
      if (mode === 'first' && chosen.length > 0) break
      if (arc.when === null || this.truth(at, arc.when, around)) chosen.push(arc)
    }
    const handled = status !== 'failed' || chosen.some((arc) => arc.when !== null)
    if (arcs.length > 1) this.seen.add(`mode ${mode}`)
    if (status === 'failed') this.seen.add(handled ? 'failure handled' : 'failure unhandled')
    if (!handled && this.net.verdict.failedOn === 'first') {
      this.seen.add('failure falls at once')
      this.drain('failure', cause!)
      return this.put({ unhandled: this.account.unhandled + 1 })
    }
    if (cause !== null) this.noteFailure(cause, handled)
    if (!handled) {
      this.put({ unhandled: this.account.unhandled + 1 })
      if (this.account.unhandled === 1 && this.net.verdict.failedOn === 'unhandled') this.keepError(cause!)
    }
    if (chosen.length === 0) return this.#nowhereToGo(token, status)
    const scope = this.#scopeOf(token)
    if (chosen.length > 1) this.seen.add('split')
    for (const arc of chosen) {
      if (arc.set !== null) this.write(this.entries(at, arc.set, around))
      this.send(arc.to, arc.args === null ? null : this.entries(at, arc.args, around), scope)
    }
  }

  #nowhereToGo(token: Token, status: Status): void {
    token.state = 'gone'
    if (token.at.next.arcs.length === 0 || status === 'failed' || this.net.noMatch === 'end') return this.branchEnds()
    this.seen.add('no match')
    this.takeBack()
    this.drain('failure', { code: 'no_match', node: token.at.key })
  }

  /** The scope of the tokens of a fork. For several joins it opens nested scopes. */
  #scopeOf(token: Token): FlowScope {
    const { at } = token
    const { scope: joins } = at.next
    if (joins === null) {
      token.state = 'gone'
      return token.scope
    }
    if ([joins].flat().length > 1) this.seen.add('scope of several joins')
    let owner = token
    let inside = token.scope
    for (const [i, continuation] of [joins].flat().entries()) {
      if (i > 0) {
        owner = { ...token, scope: inside }
        this.tokens.push(owner)
      }
      inside = this.#newScope({ kind: 'fork', parent: inside, owner, continuation, firing: null })
    }
    return inside
  }
}
