/**
 * The result of a step or task, as the tool gave it. In addition, `.data` names the result itself if it has no such
 * key, and keys that an HTTP result does not have are looked up in the body of the answer.
 */

import { Alias, type Face, ownKey } from '../../../expr/index.ts'
import type { Json } from '../../../net/net.ts'

export function stepResult(value: Json): Face {
  return typeof value === 'object' && value !== null ? new StepResult(value) : value
}

class StepResult extends Alias {
  readonly plain: Json

  constructor(value: Json) {
    super()
    this.plain = value
  }

  key(name: string): Face {
    const own = ownKey(this.plain, name)
    if (own !== undefined) return own
    const inBody = ownKey(bodyOf(this.plain), name)
    if (inBody !== undefined) return inBody
    return name === 'data' ? this : undefined
  }
}

/** The body of an HTTP answer; undefined: not an HTTP answer. */
function bodyOf(result: Json): Json | undefined {
  if (ownKey(result, 'status_code') === undefined || ownKey(result, 'headers') === undefined) return undefined
  return ownKey(result, 'body') ?? ownKey(result, 'data')
}
