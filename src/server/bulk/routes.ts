/** /v1/operations: one action on everything that a search finds. */
import { paceBulkOperation, resumeBulkOperation, stopBulkOperation } from '../../operations/bulk/change.ts'
import { listBulkItems, listBulkOperations, showBulkOperation } from '../../operations/bulk/look.ts'
import { orderBulkOperation, previewBulkOperation } from '../../operations/bulk/orders.ts'
import {
  BulkItems,
  BulkList,
  BulkPreviewReply,
  BulkReply,
  itemWire,
  operationWire,
  previewWire,
} from '../../wire/bulk/operation.ts'
import { BULK_ITEM_PARAMS, BULK_PARAMS, BulkRateRequest, BulkRequest, bulkAsked } from '../../wire/bulk/requests.ts'
import { wireEach } from '../../wire/value.ts'
import { route } from '../context.ts'

const OPERATION = { description: 'Its current state.', schema: BulkReply }

export const BULK_ROUTES = [
  route(
    'POST /v1/operations',
    {
      tag: 'Bulk operations',
      summary: 'Perform one action on everything that a search finds',
      description:
        'Only what exists now is changed, item by item, each exactly once. The answer comes at once; the servers carry it ' +
        'out, and it survives their end. With `dry_run` nothing is changed, and the answer shows what would be.',
      does: orderBulkOperation,
      body: {
        schema: BulkRequest,
        example: {
          action: 'retry',
          q: 'state:failed error:card_declined',
          rate_per_minute: 600,
          reason: 'bank is back',
        },
      },
      answers: {
        '200': { description: 'A preview.', schema: BulkPreviewReply },
        '201': { description: 'It is stored.', schema: BulkReply, headers: ['Location'] },
      },
    },
    async ({ body, perform, reply }) => {
      const asked = bulkAsked(body)
      if (body.dry_run === true) return { preview: previewWire(await perform(previewBulkOperation, asked)) }
      const row = await perform(orderBulkOperation, asked)
      reply.code(201).header('location', `/v1/operations/${row.id}`)
      return { operation: operationWire(row) }
    },
  ),

  route(
    'GET /v1/operations',
    {
      tag: 'Bulk operations',
      summary: 'List bulk operations',
      does: listBulkOperations,
      query: BULK_PARAMS,
      answers: { '200': { description: 'Newest first.', schema: BulkList } },
    },
    async ({ query, perform }, { faults }) => {
      const { state: states, limit, before } = query
      const { rows, more } = await perform(listBulkOperations, { states, limit, before })
      return { operations: wireEach(faults, rows, operationWire), next_before: more ? (rows.at(-1)?.id ?? null) : null }
    },
  ),

  route(
    'GET /v1/operations/:id',
    {
      tag: 'Bulk operations',
      summary: 'Get a bulk operation and its progress',
      does: showBulkOperation,
      answers: { '200': OPERATION },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ operation: operationWire(await perform(showBulkOperation, params)) }),
  ),

  route(
    'GET /v1/operations/:id/items',
    {
      tag: 'Bulk operations',
      summary: 'List the items of a bulk operation with their results',
      does: listBulkItems,
      query: BULK_ITEM_PARAMS,
      answers: { '200': { description: 'By id, newest first.', schema: BulkItems } },
      errors: ['not_found'],
    },
    async ({ params, query, perform }) => {
      const { rows, more } = await perform(listBulkItems, { ...params, ...query })
      return { items: rows.map(itemWire), next_before: more ? (rows.at(-1)?.itemId ?? null) : null }
    },
  ),

  route(
    'PATCH /v1/operations/:id',
    {
      tag: 'Bulk operations',
      summary: 'Change the rate of a bulk operation',
      does: paceBulkOperation,
      body: { schema: BulkRateRequest, example: { rate_per_minute: 60 } },
      answers: { '200': OPERATION },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, body, perform }) => {
      const asked = { ...params, rate: body.rate_per_minute }
      return { operation: operationWire(await perform(paceBulkOperation, asked)) }
    },
  ),

  route(
    'POST /v1/operations/:id/stop',
    {
      tag: 'Bulk operations',
      summary: 'Stop a bulk operation',
      description: 'Actions that are being performed end; no further one begins. What was changed stays changed.',
      does: stopBulkOperation,
      nothing: 'a stop',
      answers: { '200': OPERATION },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, perform }) => ({ operation: operationWire(await perform(stopBulkOperation, params)) }),
  ),

  route(
    'POST /v1/operations/:id/resume',
    {
      tag: 'Bulk operations',
      summary: 'Resume a stopped bulk operation',
      does: resumeBulkOperation,
      nothing: 'a resume',
      answers: { '200': OPERATION },
      errors: ['not_found', 'conflict'],
    },
    async ({ params, perform }) => ({ operation: operationWire(await perform(resumeBulkOperation, params)) }),
  ),
]
