/** Values of Postgres as JSON. Nothing is rounded; times stay as precise as they are; bytes are base64. */
import pg from 'pg'
import type { Json } from '../../net/net.ts'
import { exactNumber } from './numbers.ts'

type Read = (text: string) => Json

const asText: Read = (text) => text
const asJson: Read = (text) => JSON.parse(text) as Json
const asBytes: Read = (text) => Buffer.from(text.slice(2), 'hex').toString('base64')

/** `2026-01-02 03:04:05.678901+00` in ISO 8601; infinity and years BC stay unchanged. */
const asTime: Read = (text) => {
  const found = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(?:([+-]\d\d)(?::?(\d\d))?)?$/.exec(text)
  if (found === null) return text
  const [, day, time, hours, minutes] = found
  return `${day}T${time}${hours === undefined ? '' : `${hours}:${minutes ?? '00'}`}`
}

const READERS: ReadonlyMap<number, Read> = new Map([
  [16, (text) => text === 't'],
  [17, asBytes],
  [20, exactNumber],
  [21, Number],
  [23, Number],
  [26, Number],
  [114, asJson],
  [700, exactFloat],
  [701, exactFloat],
  [1114, asTime],
  [1184, asTime],
  [1700, exactNumber],
  [3802, asJson],
])

/** Types of lists, and of their elements. */
const LISTS: ReadonlyMap<number, number> = new Map([
  [1000, 16],
  [1001, 17],
  [1005, 21],
  [1007, 23],
  [1016, 20],
  [1021, 700],
  [1022, 701],
  [1115, 1114],
  [1185, 1184],
  [1231, 1700],
  [199, 114],
  [3807, 3802],
  [1009, 25],
  [1014, 1042],
  [1015, 1043],
  [1182, 1082],
  [2951, 2950],
])
const TEXT_LIST = 1009

/** NaN and the infinities are not valid JSON. */
function exactFloat(text: string): Json {
  const value = Number(text)
  return Number.isFinite(value) ? value : text
}

export function readerOf(type: number): Read {
  const inside = LISTS.get(type)
  if (inside === undefined) return READERS.get(type) ?? asText
  const read = READERS.get(inside) ?? asText
  const parse = (pg.types.getTypeParser as (type: number) => (text: string) => Nested)(TEXT_LIST)
  return (text) => deep(parse(text), read)
}

type Nested = string | null | readonly Nested[]

function deep(value: Nested, read: Read): Json {
  if (value === null) return null
  return typeof value === 'string' ? read(value) : value.map((each) => deep(each, read))
}
