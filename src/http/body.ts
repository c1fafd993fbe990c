/** Bodies of requests: JSON objects, in the two media types OJS names. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { INEXACT_HINT, inexactNumber, inexactText } from '../kernel/exact-numbers.ts'
import { depthOf } from '../kernel/json-limits.ts'
import { MAX_JSON_DEPTH } from '../kernel/limits.ts'
import { pathText } from '../kernel/reading/mistakes.ts'
import type { Body } from '../wire/mistaken.ts'
import { RequestError } from './request-error.ts'

export const MEDIA_TYPE = 'application/openjobspec+json'

const MEDIA_TYPES = [MEDIA_TYPE, 'application/json']

const UTF8 = new TextDecoder('utf-8', { fatal: true })

export function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(MEDIA_TYPES, { parseAs: 'buffer' }, (_, body: Buffer, done) => {
    try {
      done(null, parse(body))
    } catch (error) {
      done(error as Error)
    }
  })
}

/** undefined: the body was empty; some clients send an empty body with every POST. */
function parse(body: Buffer): unknown {
  if (body.length === 0) return undefined
  let text: string
  try {
    text = UTF8.decode(body)
  } catch {
    throw new RequestError('invalid_payload', 'the body is not UTF-8')
  }
  if (text.trim() === '') return undefined
  // Deeper than anything that can be stored, or printed.
  if (depthOf(text) > MAX_JSON_DEPTH + 20) {
    throw new RequestError('invalid_payload', `the body is nested more than ${MAX_JSON_DEPTH} levels deep`, {
      hint: 'Nest less deeply.',
    })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new RequestError('invalid_payload', `the body is not JSON: ${(error as Error).message}`)
  }
  refuseInexact(text)
  return value
}

/** A number that would be stored as a different one, or as null. */
function refuseInexact(text: string): void {
  const inexact = inexactNumber(text)
  if (inexact === null) return
  const field = pathText(inexact.path)
  throw new RequestError('invalid_payload', `${field === '' ? 'the body' : field}: ${inexactText(inexact)}`, {
    details: { field },
    hint: `${INEXACT_HINT}.`,
  })
}

/** The body as an object. Empty: {} if the route requires nothing, else an error. */
export function bodyObject(request: FastifyRequest, how: { readonly empty: 'allowed' | 'refused' }): Body {
  const { body } = request
  if (body === undefined || body === null) {
    if (how.empty === 'allowed') return {}
    throw new RequestError('invalid_payload', 'the body is empty')
  }
  if (typeof body === 'object' && !Array.isArray(body)) return body as Body
  const found = Array.isArray(body) ? 'an array' : `a ${typeof body}`
  throw new RequestError('invalid_payload', `the body is ${found}, not a JSON object`)
}
