/** The text of a definition as a body: YAML or JSON, unparsed so that mistakes have lines. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { MEDIA_TYPE } from '../../http/body.ts'
import { RequestError } from '../../http/request-error.ts'

const MEDIA_TYPES = [
  'application/yaml',
  'application/x-yaml',
  'text/yaml',
  'text/x-yaml',
  'text/plain',
  'application/json',
  MEDIA_TYPE,
]

const HOW = "Send the file itself: curl -H 'Content-Type: application/yaml' --data-binary @FILE"

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** Only for the routes of this app. */
export function readTexts(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(MEDIA_TYPES, { parseAs: 'buffer' }, async (_: FastifyRequest, body: Buffer) => {
    try {
      return UTF8.decode(body)
    } catch {
      throw new RequestError('invalid_payload', 'the definition is not UTF-8', { hint: 'Save the file as UTF-8.' })
    }
  })
  app.addContentTypeParser('*', async (request: FastifyRequest) => {
    const type = request.headers['content-type'] ?? 'of no type'
    throw new RequestError('invalid_request', `a definition must be YAML or JSON, not ${type}`, { hint: HOW })
  })
}

export function readGiven(request: FastifyRequest): string {
  const text = request.body
  if (typeof text === 'string' && text.trim() !== '') return text
  throw new RequestError('invalid_payload', 'the body is empty; it is the definition', { hint: HOW })
}
