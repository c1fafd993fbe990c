import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { messagesOf } from './messages.ts'
import type { Call, Statement } from './statement.ts'

/** pg's own writer, which makes a buffer of each message. */
const { serialize } = createRequire(import.meta.resolve('pg'))('pg-protocol') as {
  readonly serialize: {
    parse(query: { readonly name: string; readonly text: string }): Buffer
    bind(config: { readonly statement: string; readonly values: Call['values'] }): Buffer
    execute(): Buffer
    sync(): Buffer
  }
}

/** pg declares each result as text, Petrel declares all at once. */
function asOurs(bind: Buffer): Buffer {
  const ours = Buffer.concat([bind.subarray(0, -4), Buffer.from([0, 0])])
  ours.writeInt32BE(bind.readInt32BE(1) - 2, 1)
  return ours
}

describe('the messages of a flight', () => {
  const insert: Statement = { name: 'petrel_1', text: 'INSERT INTO t VALUES ($1, $2, $3, $4)' }
  const look: Statement = { name: 'petrel_2', text: "SELECT 'é'" }
  const calls: readonly Call[] = [
    { statement: insert, values: ['', null, 'ä \u{1F426}', Buffer.from([0, 255, 7])] },
    { statement: look, values: [] },
    { statement: insert, values: ['x'.repeat(200_000), 'plain', Buffer.alloc(0), null] },
  ]

  it('equal those that pg would send, in one piece', () => {
    const parsed = new Set<string>()
    const expected = calls.flatMap(({ statement, values }) => {
      const known = parsed.has(statement.name)
      parsed.add(statement.name)
      const bind = asOurs(serialize.bind({ statement: statement.name, values }))
      return [...(known ? [] : [serialize.parse(statement)]), bind, serialize.execute()]
    })
    const sent = new Set<string>()
    const isPrepared = ({ name }: Statement): boolean => sent.has(name) || !sent.add(name)
    expect(messagesOf(calls, isPrepared).equals(Buffer.concat([...expected, serialize.sync()]))).toBe(true)
  })

  it('of one flight do not leak into the next', () => {
    const first = messagesOf(calls, () => true)
    const copy = Buffer.from(first)
    const second = messagesOf(calls.slice(1, 2), () => true)
    expect(first.equals(copy)).toBe(true)
    expect(second).toEqual(
      Buffer.concat([
        asOurs(serialize.bind({ statement: look.name, values: [] })),
        serialize.execute(),
        serialize.sync(),
      ]),
    )
  })
})
