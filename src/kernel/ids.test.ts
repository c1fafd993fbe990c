import { describe, expect, it } from 'vitest'
import { newId } from './ids.ts'

describe('ids', () => {
  it('are UUIDs of version 7, all different, in order of creation', () => {
    const ids = Array.from({ length: 20_000 }, newId)
    for (const id of ids.slice(0, 100)) {
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    }
    expect(new Set(ids).size).toBe(ids.length)
    expect([...ids].sort()).toEqual(ids)
    expect(
      Math.abs(Number.parseInt((ids[0] as string).replaceAll('-', '').slice(0, 12), 16) - Date.now()),
    ).toBeLessThan(5000)
  })
})
