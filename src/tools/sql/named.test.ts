import { describe, expect, it } from 'vitest'
import { positional } from './named.ts'

describe('parameters by name', () => {
  it.each([
    ['SELECT :a, :b, :a', 'SELECT $1, $2, $1', [1, 2]],
    ['SELECT $b::int', 'SELECT $1::int', [2]],
    ['SELECT :a::text', 'SELECT $1::text', [1]],
    ["SELECT ':a', 'it''s :a', :b", "SELECT ':a', 'it''s :a', $1", [2]],
    [String.raw`SELECT E'\':a', :b`, String.raw`SELECT E'\':a', $1`, [2]],
    [String.raw`SELECT '\', :b`, String.raw`SELECT '\', $1`, [2]],
    ['SELECT ":a" FROM t', 'SELECT ":a" FROM t', []],
    ['SELECT 1 -- :a\n, :b', 'SELECT 1 -- :a\n, $1', [2]],
    ['SELECT /* :a /* :a */ :a */ :b', 'SELECT /* :a /* :a */ :a */ $1', [2]],
    ['SELECT $$:a$$, $x$ :a $$ $x$, :b', 'SELECT $$:a$$, $x$ :a $$ $x$, $1', [2]],
    ['SELECT list[1:2], x::a', 'SELECT list[1:2], x::a', []],
    ["SELECT ':a", "SELECT ':a", []],
    ['SELECT $$ :a', 'SELECT $$ :a', []],
    ['SELECT /* :a', 'SELECT /* :a', []],
    ['SELECT now()::time > :a', 'SELECT now()::time > $1', [1]],
  ])('%s', (sql, text, values) => {
    expect(positional(sql, { a: 1, b: 2 })).toEqual({ text, values, missing: [] })
  })

  it('leave missing ones unchanged, and name them', () => {
    const { text, missing } = positional('SELECT :a, :c, list[1:n], :constructor', { a: 1 })
    expect(text).toBe('SELECT $1, :c, list[1:n], :constructor')
    expect(missing).toEqual(['c', 'constructor'])
  })

  it('are found quickly in a long text', () => {
    const sql = `SELECT ${"'it''s', ".repeat(100_000)} :a`
    expect(positional(sql, { a: 1 }).values).toEqual([1])
  })
})
