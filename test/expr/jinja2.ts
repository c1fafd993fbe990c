/** Real Jinja2, in one Python process for many sources. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Json } from '../../src/net/net.ts'

/** With its type, as Python has it: ["int", "5"], ["list", …]. */
export type Tagged = readonly [string, ...unknown[]]

export type Answer =
  | { readonly value: Tagged }
  | { readonly text: string }
  /** `printed`, of Jinja2's answers: the text the source prints. */
  | { readonly json: Json; readonly printed?: string }
  | { readonly error: string; readonly message: string }

/** value: of an expression. text: output of a template. native: of a template, a value if possible. */
export interface Source {
  readonly kind: 'value' | 'text' | 'native'
  readonly source: string
}

export interface Asked {
  readonly version: string
  /** The names that Jinja2 provides. */
  readonly names: { readonly [kind in 'filters' | 'tests' | 'globals']: readonly string[] }
  readonly answers: readonly Answer[]
}

const program = fileURLToPath(new URL('ask_jinja2.py', import.meta.url))

/** Debian's Python first, since it has python3-jinja2. null: no Python here has Jinja2. */
export const python: string | null =
  ['/usr/bin/python3', 'python3'].find((command) => spawnSync(command, ['-c', 'import jinja2']).status === 0) ?? null

export function askJinja2(scope: { readonly [name: string]: Json }, sources: readonly Source[]): Asked {
  if (python === null) throw new Error('No Python here has Jinja2 (Debian: apt-get install python3-jinja2).')
  const input = JSON.stringify({ scope, sources })
  const asked = spawnSync(python, [program], { input, encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 })
  if (asked.status !== 0) throw new Error(`${program}: ${asked.error?.message ?? asked.stderr}`)
  return JSON.parse(asked.stdout) as Asked
}
