/** A workflow with execution slots, and the states of its instances. */
import { expect, vi } from 'vitest'
import type { EngineOptions } from '../../src/engine/api.ts'
import { quotaKey } from '../../src/model/limits.ts'
import type { StartParams } from '../../src/model/start.ts'
import { Drive, net, node, type Place } from './drive.ts'

export const one = net([node('a')])
export const KEY = quotaKey(one.name, null)
const OPTIONS = { sessionTtlMs: 1e9, heartbeatMs: 3_600_000, pollMs: 60_000 }

export class SlotStage {
  d: Drive
  readonly #place: Place

  private constructor(place: Place, d: Drive) {
    this.#place = place
    this.d = d
  }

  static async open(place: Place): Promise<SlotStage> {
    return new SlotStage(place, await Drive.open(place, OPTIONS))
  }

  async reopen(options: Partial<EngineOptions>): Promise<void> {
    await this.d.close()
    this.d = await Drive.open(this.#place, { ...OPTIONS, ...options })
  }

  start(slots: number, rest: Partial<StartParams> = {}): Promise<string> {
    return this.d.start({ net: one, slots, ...rest })
  }

  states(ids: readonly string[]): Promise<string[]> {
    return Promise.all(ids.map((id) => this.d.state(id)))
  }

  /** An instance leaves the queue after the commit that freed the slot, not within it. */
  become(ids: readonly string[], wanted: readonly string[]): Promise<void> {
    return vi.waitFor(async () => expect(await this.states(ids)).toEqual(wanted), { timeout: 10_000 })
  }

  async inUse(): Promise<number | undefined> {
    return (await this.d.store.read.limits()).find((limit) => limit.key === KEY)?.inUse
  }

  async close(): Promise<void> {
    expect(await this.d.doctor()).toEqual([])
    await this.d.close()
  }
}
