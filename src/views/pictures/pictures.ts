/** Pictures of an instance: when its work waited and ran, and the state of each of its nodes. */
import { PetrelError } from '../../kernel/errors.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { CompiledNet } from '../../net/compile.ts'
import type { KnownNets } from '../results.ts'
import { RunReasons, type Source } from '../why-run.ts'
import { type Marking, type MarkingAsked, markingOf } from './marking.ts'
import { isTimelineCursor, type Timeline, type TimelineAsked, timelineOf } from './timeline.ts'

export class Pictures {
  readonly #source: Source
  readonly #nets: KnownNets

  constructor({ source, nets }: { readonly source: Source; readonly nets: KnownNets }) {
    this.#source = source
    this.#nets = nets
  }

  async timeline(instanceId: string, asked: TimelineAsked): Promise<Timeline | null> {
    const { read } = this.#source
    const instance = await read.instance(instanceId)
    if (instance === null) return null
    if (asked.after !== null && !isTimelineCursor(asked.after)) {
      throw new PetrelError('invalid_request', 'after must be the next of a page', { parameter: 'after' })
    }
    if (asked.node !== null) nodeOf(await this.#net(instance), instance, asked.node)
    return timelineOf(read, instance, new RunReasons(this.#source, await this.#source.now()), asked)
  }

  async marking(instanceId: string, asked: MarkingAsked): Promise<Marking | null> {
    const { read } = this.#source
    const instance = await read.instance(instanceId)
    if (instance === null) return null
    const net = await this.#net(instance)
    if (asked.from !== null) nodeOf(net, instance, asked.from)
    return markingOf(read, net, instance, asked)
  }

  async #net({ id, netHash }: InstanceRow): Promise<CompiledNet> {
    const known = this.#nets.get(netHash)
    if (known !== undefined) return known
    const row = await this.#source.read.net(netHash)
    if (row === null) throw new Error(`the net of instance ${id} is missing`)
    return this.#nets.load(row)
  }
}

function nodeOf(net: CompiledNet, { name }: InstanceRow, key: string): void {
  if (net.byKey.has(key)) return
  throw new PetrelError('not_found', `there is no step ${key}`, { kind: 'step', id: key, hint: `Of ${name}.` })
}
