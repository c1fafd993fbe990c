/**
 * Layouts, made in a thread and kept: in memory, and in the browser's database for the next visit. A net never changes, so
 * neither does its layout. The key is a hash of what the layout is made from, which also covers open nested workflows.
 */
import type { Layout, LayoutInput } from './input.ts'

/** Raised when the same input gives another layout. */
const VERSION = 1
const MOST_IN_MEMORY = 12
const MOST_STORED = 60
const STORE = 'layouts'

const memory = new Map<string, Promise<Layout>>()

export function layoutFor(input: LayoutInput): Promise<Layout> {
  const key = fingerprint(input)
  const known = memory.get(key)
  memory.delete(key)
  const layout = known ?? found(key, input)
  memory.set(key, layout)
  layout.catch(() => memory.delete(key))
  const [oldest] = memory.keys()
  if (memory.size > MOST_IN_MEMORY && oldest !== undefined) memory.delete(oldest)
  return layout
}

async function found(key: string, input: LayoutInput): Promise<Layout> {
  const kept = await stored(key)
  if (kept !== null) return kept
  const layout = await inThread(input)
  void keep(key, layout)
  return layout
}

function fingerprint({ count, from, to, width, height, port, last, entry, gap }: LayoutInput): string {
  let a = 0x811c9dc5 ^ VERSION
  let b = 0x9e3779b9 ^ count ^ (gap << 16)
  const add = (value: number): void => {
    a = Math.imul(a ^ value, 0x01000193)
    b = Math.imul(b ^ (value + (a >>> 15)), 0x85ebca6b)
  }
  for (const numbers of [from, to, width, height, port, last, entry]) {
    add(numbers.length)
    const { buffer, byteOffset, byteLength } = numbers
    for (const byte of new Uint8Array(buffer, byteOffset, byteLength)) add(byte)
  }
  return `${VERSION}-${count}-${from.length}-${(a >>> 0).toString(36)}${(b >>> 0).toString(36)}`
}

interface Asked {
  readonly resolve: (layout: Layout) => void
  readonly reject: (error: Error) => void
}

const asked = new Map<number, Asked>()
let thread: Worker | null = null
let lastId = 0

function inThread(input: LayoutInput): Promise<Layout> {
  thread ??= begun()
  const id = ++lastId
  return new Promise((resolve, reject) => {
    asked.set(id, { resolve, reject })
    thread?.postMessage({ id, input })
  })
}

function begun(): Worker {
  const worker = new Worker(__LAYOUT_WORKER__, { type: 'module' })
  worker.onmessage = ({ data }: MessageEvent<{ readonly id: number; readonly layout: Layout }>) => {
    asked.get(data.id)?.resolve(data.layout)
    asked.delete(data.id)
  }
  worker.onerror = () => {
    for (const { reject } of asked.values()) reject(new Error('The layout of the graph has failed.'))
    asked.clear()
    thread = null
  }
  return worker
}

/** The database is a convenience: without it, layouts are made again. */
function database(): Promise<IDBDatabase | null> {
  return new Promise((resolve) => {
    try {
      const opening = indexedDB.open('petrel-layouts', VERSION)
      opening.onupgradeneeded = () => {
        for (const name of opening.result.objectStoreNames) opening.result.deleteObjectStore(name)
        opening.result.createObjectStore(STORE)
      }
      opening.onsuccess = () => resolve(opening.result)
      opening.onerror = () => resolve(null)
      opening.onblocked = () => resolve(null)
    } catch {
      resolve(null)
    }
  })
}

async function stored(key: string): Promise<Layout | null> {
  const db = await database()
  if (db === null) return null
  return new Promise((resolve) => {
    const request = db.transaction(STORE).objectStore(STORE).get(key)
    request.onsuccess = () => resolve((request.result as Layout | undefined) ?? null)
    request.onerror = () => resolve(null)
  }).finally(() => db.close()) as Promise<Layout | null>
}

async function keep(key: string, layout: Layout): Promise<void> {
  const db = await database()
  if (db === null) return
  const transaction = db.transaction(STORE, 'readwrite')
  const store = transaction.objectStore(STORE)
  const count = store.count()
  count.onsuccess = () => {
    // As good a rule as any: what is gone is made again.
    if (count.result >= MOST_STORED) store.clear()
    store.put(layout, key)
  }
  transaction.oncomplete = () => db.close()
  transaction.onabort = () => db.close()
}
