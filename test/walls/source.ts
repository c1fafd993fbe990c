/**
 * Reads the source as text: its files, their imports and the length of their functions. The formatter fixes the layout
 * of imports, braces and indentation, so no parser is needed.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export interface SourceFile {
  /** From the root of the project: `src/net/fire.ts`. */
  readonly path: string
  readonly text: string
}

export interface Import {
  readonly from: string
  readonly to: string
  /** Imports only types, which do not exist at run time. */
  readonly typesOnly: boolean
}

/** Lines of nested functions count for the outer one too. */
export interface FunctionSpan {
  readonly line: number
  readonly lines: number
}

/** All source files below a folder, except unit tests. */
export function sourceFiles(folder: 'src' | 'dashboard'): readonly SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name).replaceAll('\\', '/'))
    .filter((path) => /\.tsx?$/.test(path) && !/\.(?:test|d)\.ts$/.test(path))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

const STATIC = /^(?:import|export)( type)?\b([^'";]*?)\bfrom '(\.[^']+)'|^import '(\.[^']+)'/gm
const DYNAMIC = /\bimport\('(\.[^']+)'\)(\.[A-Z])?/g

/** Imports of other files of the project; imports of packages are left out. */
export function importsOf({ path, text }: SourceFile): readonly Import[] {
  const to = (specifier: string): string => relative(ROOT, join(ROOT, dirname(path), specifier)).replaceAll('\\', '/')
  const found = [...text.matchAll(STATIC)].map(([, type, names = '', specifier, bare]) => ({
    from: path,
    to: to(specifier ?? bare ?? ''),
    typesOnly: bare === undefined && (type !== undefined || namesTypesOnly(names)),
  }))
  const later = [...text.matchAll(DYNAMIC)].map(([, specifier = '', member]) => ({
    from: path,
    to: to(specifier),
    typesOnly: member !== undefined,
  }))
  return [...found, ...later]
}

function namesTypesOnly(clause: string): boolean {
  const [, list] = /^\s*\{([^}]*)\}\s*$/.exec(clause) ?? []
  if (list === undefined) return false
  const names = list.split(',').map((name) => name.trim())
  return names.every((name) => name === '' || name.startsWith('type '))
}

/** A function header on one line, or the last line of a longer header. */
const FUNCTION_OPENS =
  /=> \{$|^\s*\)(?:: .+)? \{$|\bfunction\b.*\{$|^\s*(?:[a-z]+ )*[#\w$]+(?:<.*>)?\(.*\)(?:: .+)? \{$/
const NOT_A_FUNCTION =
  /^\s*(?:\} )?(?:if|for|while|switch|catch|else|return new|do|try|await|describe|export class|class)\b(?!.*=> \{$)/

export function functionsOf({ text }: SourceFile): readonly FunctionSpan[] {
  const lines = text.split('\n')
  const spans: FunctionSpan[] = []
  for (const [index, line] of lines.entries()) {
    if (!FUNCTION_OPENS.test(line) || NOT_A_FUNCTION.test(line)) continue
    const indent = line.length - line.trimStart().length
    const end = lines.findIndex(
      (other, at) =>
        at > index && other.trimStart().startsWith('}') && other.length - other.trimStart().length === indent,
    )
    if (end !== -1) spans.push({ line: index + 1, lines: end - index + 1 })
  }
  return spans
}
