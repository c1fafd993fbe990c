/**
 * The messages of a flight as one buffer: Parse (for a statement that is not prepared yet), Bind and Execute of each
 * call, one Sync. pg's own serializer makes a buffer per message, which the socket then has to gather.
 */
import { Bytes } from './bytes.ts'
import type { Call, Statement } from './statement.ts'

const PARSE = 80
const BIND = 66
const EXECUTE = 69
const SYNC = 83

const out = new Bytes()

/** `isPrepared` is called once per call, in order; a statement that is not is prepared in the flight. */
export function messagesOf(calls: readonly Call[], isPrepared: (statement: Statement) => boolean): Buffer {
  out.at = 0
  for (const { statement, values } of calls) {
    if (!isPrepared(statement)) parse(statement)
    bind(statement, values)
    execute()
  }
  out.room(5)
  out.byte(SYNC)
  out.int(4)
  return out.taken()
}

function parse({ name, text }: Statement): void {
  const start = open(PARSE)
  word(name)
  word(text)
  // The server infers the types of all parameters.
  out.room(2)
  out.short(0)
  out.end(start, 4)
}

function bind({ name }: Statement, values: Call['values']): void {
  const start = open(BIND)
  // The unnamed portal.
  word('')
  word(name)
  out.room(4 + 2 * values.length)
  out.short(values.length)
  for (const value of values) out.short(value instanceof Uint8Array ? 1 : 0)
  out.short(values.length)
  for (const value of values) parameter(value)
  // All results as text.
  out.room(2)
  out.short(0)
  out.end(start, 4)
}

function parameter(value: Call['values'][number]): void {
  if (value === null) {
    out.room(4)
    out.int(-1)
    return
  }
  const start = out.begin()
  if (typeof value === 'string') out.text(value)
  else {
    out.room(value.length)
    value.copy(out.bytes, out.at)
    out.at += value.length
  }
  out.end(start)
}

/** All rows of the unnamed portal. */
function execute(): void {
  out.room(10)
  out.byte(EXECUTE)
  out.int(9)
  out.byte(0)
  out.int(0)
}

function open(code: number): number {
  out.room(1)
  out.byte(code)
  return out.begin()
}

function word(text: string): void {
  out.text(text)
  out.room(1)
  out.byte(0)
}
