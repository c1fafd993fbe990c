/**
 * The answer to a body that is too large, while its client is still sending it. A connection that is closed with bytes
 * in transit is reset, and the client never reads the reason. So the complete answer is written at once, and further
 * bytes are discarded: until the client has finished, up to a limit in bytes and in time.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { MEDIA_TYPE } from './body.ts'
import { isOjs } from './failure.ts'

const MOST_DRAINED = 64 * 1024 * 1024
const LONGEST_MS = 10_000

export function refuseEarly(request: FastifyRequest, reply: FastifyReply, body: object): FastifyReply {
  const { raw: sent } = request
  const { raw: answer } = reply
  const text = JSON.stringify(body)
  const ojs = isOjs(request.url)
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) answer.setHeader(name, value)
  }
  answer.writeHead(413, {
    ...(ojs ? { 'ojs-version': '1.0' } : {}),
    'content-type': ojs ? MEDIA_TYPE : 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    connection: 'close',
  })
  answer.write(text)
  let drained = 0
  const stop = (): void => {
    clearTimeout(timer)
    if (!answer.writableEnded) answer.end()
  }
  const timer = setTimeout(stop, LONGEST_MS)
  sent.on('data', (chunk: Buffer) => {
    drained += chunk.length
    if (drained > MOST_DRAINED) stop()
  })
  sent.on('end', stop)
  sent.on('close', stop)
  sent.on('error', stop)
  sent.resume()
  return reply
}
