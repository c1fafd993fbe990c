/** docs/expressions.md lists exactly what exists. test/docs/pages.test.ts runs its examples. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { DEPTH_LIMIT, SOURCE_LIMIT } from '../../src/expr/budget.ts'
import { filters } from '../../src/expr/builtins/filters.ts'
import { functions } from '../../src/expr/builtins/functions.ts'
import { methods } from '../../src/expr/builtins/methods.ts'
import { tests } from '../../src/expr/builtins/tests.ts'
import { type Params, REQUIRED, type Signature } from '../../src/expr/evaluate/callable.ts'
import { Float } from '../../src/expr/evaluate/value.ts'
import { differences } from './differences.ts'

const page = readFileSync(new URL('../../docs/expressions.md', import.meta.url), 'utf8')

function section(title: string): string {
  const [, text = ''] = page.split(`\n## ${title}\n`)
  return text.split('\n## ')[0] as string
}

/** Cells are separated by bars; bars in code are written `\|`. */
function cellsOf(row: string): readonly string[] {
  return row.split(/(?<!\\)\|/).slice(1, -1)
}

function ticked(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => (code as string).replaceAll('\\|', '|'))
}

/** The text in backticks in the first cell of each row. */
function listed(text: string): readonly string[] {
  const rows = text.split('\n').filter((line) => line.startsWith('| `'))
  return rows.flatMap((row) => ticked(cellsOf(row)[0] as string)).sort()
}

function signed(name: string, { params, rest, named }: Signature & { readonly named?: boolean }): string {
  const all = Object.entries(params).map(([param, fallback]) =>
    fallback === REQUIRED || fallback === undefined ? param : `${param}=${literal(fallback)}`,
  )
  return `${name}(${[...all, ...(rest === true || named === true ? ['…'] : [])].join(', ')})`
}

function literal(value: Params[string]): string {
  if (value === null) return 'none'
  if (value instanceof Float) return `${value.value}.0`
  return typeof value === 'string' ? `'${value}'` : String(value)
}

describe('the page on expressions', () => {
  it('lists the filters, with their arguments', () => {
    const all = Object.entries(filters).map(([name, filter]) =>
      name === 'd' || name === 'e' ? name : signed(name, filter),
    )
    expect(listed(section('Filters'))).toEqual(all.sort())
  })

  it('lists the tests, with their arguments', () => {
    const all = Object.entries(tests).map(([name, test]) =>
      Object.keys(test.params).length === 0 || !/^\w+$/.test(name) ? name : signed(name, test),
    )
    expect(listed(section('Tests'))).toEqual(all.sort())
  })

  it('lists the functions, with their arguments', () => {
    const all = Object.entries(functions).map(([name, func]) => signed(name, func))
    expect(listed(section('Functions and methods'))).toEqual(all.sort())
  })

  it('lists the methods', () => {
    const [, rows = ''] = section('Functions and methods').split('| methods of | |')
    const named = rows.split('\n').filter((line) => /^\| (dicts|lists|texts)/.test(line))
    expect(named.flatMap((row) => ticked(cellsOf(row)[1] as string)).sort()).toEqual(Object.keys(methods).sort())
  })

  it('lists the limits', () => {
    expect(section('Limits')).toContain(`| length of a source | ${SOURCE_LIMIT.toLocaleString('en')} characters |`)
    expect(section('Limits')).toContain(`| depth of brackets, operators and blocks | ${DEPTH_LIMIT} |`)
  })

  it('lists the differences from Jinja2', () => {
    const rows = section('Where it differs from Jinja2')
      .split('\n')
      .filter((line) => line.startsWith('|'))
    expect(rows).toEqual(['| what | why | for example | here | Jinja2 |', '|---|---|---|---|---|', ...differenceRows()])
  })
})

/** One row per example; what and why are in the first of them. */
function differenceRows(): readonly string[] {
  return differences.flatMap(({ what, why, examples }) =>
    examples.map(({ source, ours, jinja2 }, at) => {
      const cells = [at === 0 ? what : '', at === 0 ? why : '', code(source), code(ours), code(jinja2)]
      return `| ${cells.join(' | ')} |`
    }),
  )
}

function code(text: string): string {
  return text === '' ? '(nothing)' : `\`${text.replaceAll('\n', '⏎').replaceAll('|', '\\|')}\``
}
