/**
 * Services of a dry run: they take the commands that a saga stores, as the relay does, and answer each according to the
 * outcomes file, on the skipped clock. The saga itself runs on the engine's own path: the same handler builds its
 * commands, the same transactions store, answer and undo them. An answer after the deadline of its step is late.
 */

import type { EngineApi } from '../../engine/api.ts'
import { PetrelError } from '../../kernel/errors.ts'
import { MAX_JSON_BYTES } from '../../kernel/limits.ts'
import type { CommandRow } from '../../model/commands.ts'
import type { Net } from '../../net/net.ts'
import { notationOf } from '../../notations/notations.ts'
import type { Handler } from '../../worker/handlers.ts'
import type { SkippedClock } from './clock.ts'
import { NEVER_MS, type Outcomes } from './outcomes.ts'

/** Longer than a dry run: a taken command is only offered again when it is sent again. */
const HOLD_MS = 1e12
const AT_ONCE = 1000

export class Services {
  readonly #engine: EngineApi
  readonly #outcomes: Outcomes
  readonly #clock: SkippedClock
  readonly #times = new Map<string, number>()
  readonly #late = new AbortController()
  /** Answers being sent, without the sleeping ones. */
  busy = 0

  constructor(engine: EngineApi, outcomes: Outcomes, clock: SkippedClock) {
    this.#engine = engine
    this.#outcomes = outcomes
    this.#clock = clock
  }

  /** What builds the commands of this net, by type; none: its work is not done by services. */
  async handlers(net: Net): Promise<readonly (readonly [string, Handler])[]> {
    const commandsOf = (instanceId: string) => this.#engine.commands.ofInstance({ instanceId })
    return (await notationOf(net)?.services?.handlers(net, { commandsOf, maxBytes: MAX_JSON_BYTES })) ?? []
  }

  /** Takes the commands that have been sent. true: there were some. */
  async take(): Promise<boolean> {
    const rows = await this.#engine.commands.take({ limit: AT_ONCE, holdMs: HOLD_MS })
    for (const row of rows) {
      this.busy++
      void this.#answer(row).finally(() => this.busy--)
    }
    return rows.length > 0
  }

  async #sleep(who: string, ms: number): Promise<void> {
    this.busy--
    try {
      await this.#clock.sleep(who, ms, this.#late.signal)
    } finally {
      this.busy++
    }
  }

  close(): void {
    this.#late.abort()
  }

  async #answer({ runId, node, role, body, epoch }: CommandRow): Promise<void> {
    const times = (this.#times.get(runId) ?? 0) + 1
    this.#times.set(runId, times)
    const type = (await this.#engine.queries.run(runId))?.type ?? ''
    const { delayMs, error, result } = this.#outcomes.run({ node, item: -1, role, type, times })
    if (delayMs >= NEVER_MS) return
    try {
      if (delayMs > 0) await this.#sleep(`${runId}@${epoch}`, delayMs)
      const outcome =
        error === null
          ? { kind: 'succeeded' as const, result: result === undefined ? JSON.parse(body) : result }
          : { kind: 'failed' as const, error }
      await this.#engine.complete({ runId, outcome })
    } catch (refused) {
      // Too late, or the dry run is over: a real service would get the same refusal.
      if (!(refused instanceof PetrelError) && !this.#late.signal.aborted) throw refused
    }
  }
}
