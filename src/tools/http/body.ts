/** The body of a request: JSON unless the content type or the field requires another form. */
import type { Json } from '../../net/net.ts'
import { misfit } from '../envelope.ts'
import { isMap, kindOf } from '../fields.ts'
import type { Fields } from '../tool.ts'

export interface Body {
  readonly bytes: Buffer
  readonly contentType: string
}

/** `contentType`: from the task's headers, or null. */
export async function encoded(value: Json, contentType: string | null): Promise<Body> {
  const wanted = contentType?.toLowerCase() ?? ''
  if (wanted.startsWith('multipart/form-data') && isMap(value)) return multipart(value)
  if (wanted.startsWith('application/x-www-form-urlencoded') && isMap(value)) {
    return { bytes: Buffer.from(formText(value)), contentType: contentType! }
  }
  if (typeof value === 'string')
    return { bytes: Buffer.from(value), contentType: contentType ?? 'text/plain; charset=utf-8' }
  return asJson(value, contentType)
}

export function asJson(value: Json, contentType: string | null): Body {
  return { bytes: Buffer.from(JSON.stringify(value)), contentType: contentType ?? 'application/json' }
}

export async function asForm(value: Json, contentType: string | null): Promise<Body> {
  if (!isMap(value)) throw misfit(`form must be a map, not ${kindOf(value)}`)
  return encoded(value, contentType ?? 'application/x-www-form-urlencoded')
}

/** Pairs of a query or a form: a list repeats its name, null leaves it out. */
export function pairs(values: Fields): [string, string][] {
  return Object.entries(values).flatMap(([name, value]) =>
    (Array.isArray(value) ? (value as readonly Json[]) : [value])
      .filter((each) => each !== null)
      .map((each): [string, string] => [name, typeof each === 'string' ? each : JSON.stringify(each)]),
  )
}

function formText(values: Fields): string {
  return new URLSearchParams(pairs(values)).toString()
}

/** A part is text, or a file: { filename, content | content_base64, content_type }. */
async function multipart(values: Fields): Promise<Body> {
  const form = new FormData()
  for (const [name, value] of Object.entries(values)) {
    if (isMap(value) && typeof value['filename'] === 'string') form.append(name, fileOf(value), value['filename'])
    else for (const [, text] of pairs({ [name]: value })) form.append(name, text)
  }
  const message = new Response(form)
  return { bytes: Buffer.from(await message.arrayBuffer()), contentType: message.headers.get('content-type')! }
}

function fileOf(part: Fields): Blob {
  const encodedText = part['content_base64']
  const content = typeof encodedText === 'string' ? Buffer.from(encodedText, 'base64') : String(part['content'] ?? '')
  return new Blob([content], { type: typeof part['content_type'] === 'string' ? part['content_type'] : '' })
}
