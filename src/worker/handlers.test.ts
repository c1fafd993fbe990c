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

  it('selects the types a worker shall serve, without later additions', () => {
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

  it('refuses what cannot be meant', () => {
    const handlers = new Handlers()
    expect(() => handlers.select(null)).toThrow('a worker needs at least one handler')
    handlers.add('mail', one)
    expect(() => handlers.add('mail', two)).toThrow("there is a handler for 'mail' already")
    expect(() => handlers.add('', one)).toThrow('a type is a text of 1 to 255 characters')
    expect(() => handlers.add('a%b', one)).toThrow("'%' is allowed only at the end of a type: 'a%b'")
    expect(() => handlers.add('x', 'no' as never)).toThrow("the handler of 'x' must be a function, not string")
    expect(() => handlers.select(['nobody'])).toThrow("there is no handler for 'nobody'")
  })
})
