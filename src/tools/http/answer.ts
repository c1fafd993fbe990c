/** The body of an answer: bounded, decompressed, and parsed according to its content type. */
import type { IncomingMessage } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Json } from '../../net/net.ts'
import { ToolFault } from '../envelope.ts'

export interface Content {
  readonly data: Json
  /** The bytes are not text; `data` holds them in base64. */
  readonly base64: boolean
  /** The content type is JSON but the text is not; `data` is the text. */
  readonly malformed: boolean
}

export async function contentOf(message: IncomingMessage, maxBytes: number): Promise<Content> {
  const bytes = await bounded(unpacked(message), maxBytes)
  const type = message.headers['content-type']?.toLowerCase() ?? ''
  const text = textOf(bytes, type)
  if (text === null) return { data: bytes.toString('base64'), base64: true, malformed: false }
  if (!isJson(type)) return { data: text, base64: false, malformed: false }
  if (text.trim() === '') return { data: null, base64: false, malformed: false }
  try {
    return { data: JSON.parse(text) as Json, base64: false, malformed: false }
  } catch {
    return { data: text, base64: false, malformed: true }
  }
}

/** Counted after decompression: a small body can expand to a very large one. */
async function bounded(stream: Readable, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) {
      stream.destroy()
      throw new ToolFault({
        kind: 'client_error',
        code: 'RESPONSE_TOO_LARGE',
        message: `the answer is longer than ${maxBytes} bytes (max_bytes)`,
      })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function unpacked(message: IncomingMessage): Readable {
  const unpack = unpacker(message.headers['content-encoding'])
  // Its errors also appear on the stream that is read.
  return unpack === null ? message : pipeline(message, unpack, () => {})
}

function unpacker(encoding: string | undefined) {
  switch (encoding?.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip()
    case 'deflate':
      return createInflate()
    case 'br':
      return createBrotliDecompress()
    default:
      return null
  }
}

/** null: not text. Text with NUL could not be stored. */
function textOf(bytes: Buffer, type: string): string | null {
  const charset = /charset="?([\w-]+)"?/.exec(type)?.[1] ?? 'utf-8'
  try {
    const text = new TextDecoder(charset, { fatal: true }).decode(bytes)
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}

function isJson(type: string): boolean {
  return /^(application\/json|text\/json|[\w.-]+\/[\w.-]+\+json)\s*(;|$)/.test(type.trim())
}
