/**
 * References: arguments that an instance stores separately, in slots (`x:<n>`), and payloads that refer to them:
 *   { "$ref": "x:7" }                    the slot's value is all of the arguments
 *   { "$shared": "x:3", "a": 1, … }      the arguments that all items of a list share, with the run's own merged over them
 * Such slots never change, so shared arguments are read once and cached.
 */
import { isMap } from '../../net/json.ts'
import type { Json } from '../../net/net.ts'
import { isReference, refersAside, sharedIn } from '../../net/references.ts'
import type { SlotKey } from '../../net/slots.ts'
import type { Store } from '../../store/store.ts'

/** Length of the text of cached values; as objects they take a few times as much. */
const KEPT_BYTES = 32 * 1024 * 1024

export class References {
  readonly #read: Store['read']['slot']
  readonly #storesArguments: (instanceId: string) => Promise<boolean>
  readonly #most: number
  /** The least recently used is removed first. */
  readonly #kept = new Map<string, { readonly value: Json; readonly bytes: number }>()
  #bytes = 0
  /** Reads in progress, since many items of one list begin together. */
  readonly #asking = new Map<string, Promise<Json | undefined>>()

  /**
   * `storesArguments`: whether an instance stores arguments separately at all. Otherwise, what looks like a reference is
   * none.
   */
  constructor(
    store: Pick<Store, 'read'>,
    storesArguments: (instanceId: string) => Promise<boolean>,
    keptBytes = KEPT_BYTES,
  ) {
    this.#read = (params) => store.read.slot(params)
    this.#storesArguments = storesArguments
    this.#most = keptBytes
  }

  /**
   * The complete arguments; undefined: what they refer to no longer exists. `$ref` is resolved first, then `$shared`, and
   * nothing deeper: values of the author may look like a reference.
   */
  async resolve(instanceId: string, payload: Json): Promise<Json | undefined> {
    if (!refersAside(payload) || !(await this.#storesArguments(instanceId))) return payload
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
    // Many runs share the object, so none of them may change it.
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
