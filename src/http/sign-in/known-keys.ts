/** API keys as last read. */
import type { Keys } from '../../model/registry.ts'
import type { KeyRow } from '../../model/rows.ts'
import { judgeKey, splitKey } from '../../operations/keys/api-key.ts'
import { RequestError } from '../request-error.ts'
import { Remembered } from './remembered.ts'

/** One read of the store for each key and two seconds, not for each request. */
export class KnownKeys {
  readonly #recent: Remembered<KeyRow>

  constructor(keys: Keys) {
    this.#recent = new Remembered((id) => keys.find(id))
  }

  async check(token: string): Promise<KeyRow> {
    const parts = splitKey(token)
    if (parts === null) throw refused('this is not an API key of Petrel')
    const row = await this.#recent.find(parts.id)
    const verdict = judgeKey(row, parts.secret, Date.now())
    if (verdict === 'ok') return row as KeyRow
    throw refused(verdict === 'wrong' ? 'there is no such API key' : `this API key is ${verdict}`)
  }
}

function refused(message: string): RequestError {
  return new RequestError('unauthenticated', message, {
    headers: { 'www-authenticate': 'Bearer realm="petrel", error="invalid_token"' },
    hint: '`petrel keys ls` lists the keys; `petrel keys add` makes a new one.',
  })
}
