import { describe, expect, it } from 'vitest'
import { PetrelError } from '../../../kernel/errors.ts'
import { StoreDataError, StoreUnavailableError } from '../../../kernel/store-errors.ts'
import { refusalOf } from './failure.ts'
import { again, type Message } from './message.ts'
import { Refusal } from './refusal.ts'

function delivered(deliveries: number): Message {
  return { subject: 's', data: new Uint8Array(), deliveries, header: () => null }
}

describe('the handling of a message that caused an error', () => {
  it.each([
    ['invalid_json', new Refusal('invalid_json', 'no')],
    ['unstorable', new StoreDataError('22P05', 'no')],
    ['mismatch', new PetrelError('mismatch', 'no')],
    ['not_found', new PetrelError('not_found', 'no')],
    ['conflict', new PetrelError('conflict', 'no')],
    ['late', new PetrelError('conflict', 'no', { reason: 'late' })],
  ])('%s: rejected at once', (code, error) => {
    expect(refusalOf(error, delivered(1))).toMatchObject({ code, message: 'no' })
  })

  it.each([new StoreUnavailableError('connection_lost', 'no'), new PetrelError('unavailable', 'no')])(
    'retried without limit: %s',
    (error) => {
      expect(refusalOf(error, delivered(1000))).toBeNull()
    },
  )

  it.each([new TypeError('x is undefined'), new PetrelError('engine_error', 'no')])(
    'retried up to a limit: %s',
    (error) => {
      expect(refusalOf(error, delivered(1))).toBeNull()
      expect(refusalOf(error, delivered(20))).toMatchObject({ code: 'engine_error' })
    },
  )
})

it('redeliveries come at growing intervals', () => {
  const pauses = [1, 2, 3, 5, 6, 100].map((deliveries) => again(delivered(deliveries)))
  expect(pauses).toEqual([500, 1000, 2000, 8000, 10_000, 10_000].map((againInMs) => ({ againInMs })))
})
