import { describe, expect, it } from 'vitest'
import { Handlers } from './handlers.ts'

const one = () => 1
const two = () => 2
const three = () => 3

describe('handlers by type', () => {
  it('the exact name wins over a prefix, a longer prefix over a shorter', () => {
    const handlers = new Handlers()
    handlers.add('billing.%', one)
    handlers.add('billing.invoice.%', two)
    handlers.add('billing.invoice.send', three)
    expect(handlers.find('billing.pay')).toBe(one)
    expect(handlers.find('billing.invoice.pdf')).toBe(two)
    expect(handlers.find('billing.invoice.send')).toBe(three)
    expect(handlers.find('shipping')).toBeNull()
    expect(handlers.types()).toEqual(['billing.invoice.send', 'billing.invoice.%', 'billing.%'])
  })

  it('selects the types that a worker serves, without later additions', () => {
    const handlers = new Handlers()
    handlers.add('billing.%', one)
    handlers.add('mail', two)
    const selected = handlers.select(['billing.pay', 'mail'])
    const all = handlers.select(null)
    handlers.add('late', three)
    expect(selected.types()).toEqual(['billing.pay', 'mail'])
    expect(selected.find('billing.pay')).toBe(one)
    expect(all.find('late')).toBeNull()
  })

  it('a prefix selects every handler under it, and types without one are not claimed', () => {
    const handlers = new Handlers()
    handlers.add('billing.invoice.v1', one)
    handlers.add('billing.refund.%', two)
    handlers.add('mail', three)
    const some = handlers.select(['billing.%'])
    expect(some.types()).toEqual(['billing.invoice.v1', 'billing.refund.%'])
    expect(some.find('billing.refund.v2')).toBe(two)
    handlers.add('%', three)
    const all = handlers.select(['billing.%'])
    expect(all.types()).toEqual(['billing.invoice.v1', 'billing.refund.%', 'billing.%'])
    expect(all.find('billing.invoice.v1')).toBe(one)
    expect(all.find('billing.payment.v1')).toBe(three)
  })

  it('underscores, percent signs and backslashes of a name are literal', () => {
    const handlers = new Handlers()
    handlers.add('a_b.%', one)
    handlers.add('100\\%.%', two)
    handlers.add('100\\%', three)
    handlers.add('a\\b', three)
    expect(handlers.find('aXb.c')).toBeNull()
    expect(handlers.find('a_b.c')).toBe(one)
    expect(handlers.find('100%.c')).toBe(two)
    expect(handlers.find('100%')).toBe(three)
    expect(handlers.find('a\\b')).toBe(three)
    expect(handlers.types()).toEqual(['100\\%', 'a\\b', '100\\%.%', 'a_b.%'])
    expect(handlers.select(null).types()).toEqual(handlers.types())
    expect(() => handlers.add('a\\_b.%', two)).toThrow("there is a handler for 'a\\_b.%' already")
  })

  it('refuses ambiguous or invalid types', () => {
    const handlers = new Handlers()
    expect(() => handlers.select(null)).toThrow('a worker needs at least one handler')
    handlers.add('mail', one)
    expect(() => handlers.add('mail', two)).toThrow("there is a handler for 'mail' already")
    expect(() => handlers.add('', one)).toThrow('a type must be a string of 1 to 255 characters')
    expect(() => handlers.add('a%b', one)).toThrow("'%' is allowed only at the end of a type: 'a%b'")
    expect(() => handlers.add('x', 'no' as never)).toThrow("the handler of 'x' must be a function, not string")
    expect(() => handlers.add('a\\b%', one)).toThrow("a backslash beside a '%' stands before")
    expect(() => handlers.select(['nobody'])).toThrow("there is no handler for 'nobody'")
    expect(() => handlers.select(['nobody.%'])).toThrow("there is no handler for 'nobody.%'")
  })
})
