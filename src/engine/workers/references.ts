/**
 * Arguments that an instance keeps aside, in slots (`x:<n>`), and payloads that refer to them:
 *   { "$ref": "x:7" }                    the slot's value is all of the arguments
 *   { "$shared": "x:3", "a": 1, … }      what all items of a list share, with the run's own laid over it
 * What was put aside never changes, so what is shared is read once and kept while there is room.
 */
import { isMap } from '../../net/json.ts'
import type { Json } from '../../net/net.ts'
import { isReference, refersAside, sharedIn } from '../../net/references.ts'
import type { SlotKey } from '../../net/slots.ts'
import type { Store } from '../../store/store.ts'

/** Text of shared values kept in memory; as objects they take a few times as much. */
const KEPT_BYTES = 32 * 1024 * 1024

export class References {
  readonly #read: Store['read']['slot']
  readonly #keepsAside: (instanceId: string) => Promise<boolean>
  readonly #most: number
  /** The longest unused first. */
  readonly #kept = new Map<string, { readonly value: Json; readonly bytes: number }>()
  #bytes = 0
  /** Many items of one list begin together. */
  readonly #asking = new Map<string, Promise<Json | undefined>>()

  /** `keepsAside`: whether an instance keeps anything aside at all. Elsewhere what looks like a reference is none. */
  constructor(
    store: Pick<Store, 'read'>,
    keepsAside: (instanceId: string) => Promise<boolean>,
    keptBytes = KEPT_BYTES,
  ) {
    this.#read = (params) => store.read.slot(params)
    this.#keepsAside = keepsAside
    this.#most = keptBytes
  }

  /**
   * The whole arguments; undefined: what they refer to is not there any more. First what is kept aside, then what is shared,
   * and no further: an author's own words may look like a reference.
   */
  async resolve(instanceId: string, payload: Json): Promise<Json | undefined> {
    if (!refersAside(payload) || !(await this.#keepsAside(instanceId))) return payload
    const whole = isReference(payload) ? await this.#outOfLine(instanceId, payload.$ref) : payload
    if (whole === undefined) return undefined
    const { key, own } = sharedIn(whole)
    if (key === null) return whole
    const shared = await this.#shared(instanceId, key)
    if (shared === undefined) return undefined
    return isMap(shared) ? { ...shared, ...own } : own
  }

  async #outOfLine(instanceId: string, key: SlotKey): Promise<Json | undefined> {
    const text = await this.#read({ instanceId, key })
    return text === null ? undefined : (JSON.parse(text) as Json)
  }

  async #shared(instanceId: string, key: SlotKey): Promise<Json | undefined> {
    const name = `${instanceId}/${key}`
    const known = this.#kept.get(name)
    if (known !== undefined) {
      this.#kept.delete(name)
      this.#kept.set(name, known)
      return known.value
    }
    const asking = this.#asking.get(name) ?? this.#load(name, instanceId, key)
    this.#asking.set(name, asking)
    return asking.finally(() => this.#asking.delete(name))
  }

  async #load(name: string, instanceId: string, key: SlotKey): Promise<Json | undefined> {
    const text = await this.#read({ instanceId, key })
    if (text === null) return undefined
    // Many runs are given the same object: none may change it for the others.
    const value = frozen(JSON.parse(text) as Json)
    this.#keep(name, value, text.length)
    return value
  }

  #keep(name: string, value: Json, bytes: number): void {
    if (bytes > this.#most || this.#kept.has(name)) return
    this.#kept.set(name, { value, bytes })
    this.#bytes += bytes
    for (const [oldest, { bytes: freed }] of this.#kept) {
      if (this.#bytes <= this.#most) return
      this.#kept.delete(oldest)
      this.#bytes -= freed
    }
  }
}

function frozen(value: Json): Json {
  if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) frozen(member)
    Object.freeze(value)
  }
  return value
}
