/**
 * The expression language of these tests, just large enough to branch, count and fail:
 * `true`, `false`, `boom` (throws), `ctx.k`, `not ctx.k`, `ctx.n<3`, `ctx.n+1`, `args.a`, `event.ok`, `event.failed`,
 * `event.result`, `item`, `row`, `place`, `results.n`, `n0` (a node), `list:3`, `num:3`.
 * A template is any JSON in which a string starting with `=` is an expression.
 */
import type { Evaluate, Scope } from '../../src/net/facts.ts'
import type { Json } from '../../src/net/net.ts'

const FAILED = new Set(['failed', 'unknown', 'cancelled', 'rejected'])

export function evaluateExpression(source: string, scope: Scope): Json {
  if (source === 'boom') throw new Error('boom')
  if (source === 'true') return true
  if (source === 'false') return false
  if (source.startsWith('not ')) return !truthy(evaluateExpression(source.slice(4), scope))
  if (source.startsWith('list:')) return Array.from({ length: Number(source.slice(5)) }, (_, i) => i)
  if (source.startsWith('num:')) return Number(source.slice(4))
  if (source === 'place') return path(scope, ['$place'])
  if (/^(item|row|n\d+)$/.test(source)) return path(scope, [source])
  if (source === 'event.ok') return !FAILED.has(String(path(scope, ['event', 'status'])))
  if (source === 'event.failed') return FAILED.has(String(path(scope, ['event', 'status'])))
  const less = /^(\w+\.\w+)<(\d+)$/.exec(source)
  if (less) return Number(path(scope, less[1]!.split('.')) ?? 0) < Number(less[2])
  const plus = /^(\w+\.\w+)\+(\d+)$/.exec(source)
  if (plus) return Number(path(scope, plus[1]!.split('.')) ?? 0) + Number(plus[2])
  if (/^\w+\.\w+$/.test(source)) return path(scope, source.split('.'))
  throw new Error(`not an expression of these tests: ${source}`)
}

export function renderTemplate(template: Json, scope: Scope): Json {
  if (typeof template === 'string')
    return template.startsWith('=') ? evaluateExpression(template.slice(1), scope) : template
  if (template === null || typeof template !== 'object') return template
  if (Array.isArray(template)) return template.map((part: Json) => renderTemplate(part, scope))
  return Object.fromEntries(Object.entries(template).map(([name, part]) => [name, renderTemplate(part as Json, scope)]))
}

export function truthy(value: Json): boolean {
  return value !== null && value !== false && value !== 0 && value !== ''
}

function path(scope: Scope, names: readonly string[]): Json {
  let value: Json | undefined = scope as Json
  for (const name of names) {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return null
    value = (value as { readonly [name: string]: Json })[name]
  }
  return value ?? null
}

function namesOf(source: string): string[][] {
  if (source === 'place') return [['$place']]
  if (/^(item|row|n\d+)$/.test(source)) return [[source]]
  return [...source.matchAll(/\b(ctx|args|event|results)\.(\w+)/g)].map((m) => [m[1]!, m[2]!])
}

function namesIn(source: Json): string[][] {
  if (typeof source === 'string') return namesOf(source.replace(/^=/, ''))
  if (source === null || typeof source !== 'object') return []
  return Object.values(source).flatMap((part) => namesIn(part as Json))
}

export const evaluate: Evaluate = {
  names: namesIn,
  templateNames: namesIn,
  truth: (source, scope) => truthy(evaluateExpression(source, scope)),
  value: evaluateExpression,
  render: renderTemplate,
}
