/** A net as an answer: its hash validates it. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isKnown } from '../../http/etag.ts'
import type { NamedNet } from '../../operations/definitions/nets.ts'
import { anything, named, object, text, type Value } from '../../wire/schema.ts'

export const NetReply = named(
  'NetReply',
  object({
    hash: text(),
    net: anything({ type: 'object', description: 'Nodes and arcs, without data: docs/net.md.' }),
  }),
)

export const UNCHANGED = { '304': { description: 'The client has it: `If-None-Match`.' } } as const

export function sendNet(
  request: FastifyRequest,
  reply: FastifyReply,
  { hash, net }: NamedNet,
  cacheControl: string,
): Value<typeof NetReply> | FastifyReply {
  const etag = `W/"${hash}"`
  reply.header('etag', etag).header('cache-control', cacheControl)
  return isKnown(request, etag) ? reply.code(304).send() : { hash, net }
}
