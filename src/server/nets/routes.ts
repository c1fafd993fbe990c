/** /v1/nets, and the nets of definitions: immutable, so a client needs each once. */
import { definitionNet, showNet } from '../../operations/definitions/nets.ts'
import { route } from '../context.ts'
import { NetReply, sendNet, UNCHANGED } from './reply.ts'

export const NET_ROUTES = [
  route(
    'GET /v1/nets/:hash',
    {
      tag: 'Definitions',
      summary: 'Get a net by its hash',
      does: showNet,
      description:
        'Instances and definitions name their nets as `net`. Never changes: `Cache-Control` lets a client keep it. For callers that ' +
        'belong to no tenant; others get the nets of their instances and definitions.',
      answers: { '200': { description: 'As compiled.', schema: NetReply }, ...UNCHANGED },
      errors: ['not_found'],
      compressed: true,
    },
    async ({ params, perform, request, reply }) =>
      sendNet(request, reply, await perform(showNet, params), 'private, max-age=31536000, immutable'),
  ),

  route(
    'GET /v1/definitions/:name/versions/:version/net',
    {
      tag: 'Definitions',
      summary: 'Get the net that a version was compiled to',
      does: definitionNet,
      description: 'Its hash is the ETag.',
      answers: { '200': { description: 'As compiled.', schema: NetReply }, ...UNCHANGED },
      errors: ['not_found'],
      compressed: true,
    },
    async ({ params, perform, request, reply }) =>
      sendNet(request, reply, await perform(definitionNet, params), 'private, no-cache'),
  ),
]
