/** The code of a task: its own text, base64, or a file. */
import { readFile, realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { misfit, ToolFault } from './envelope.ts'
import { checkOneOf, type FieldTable, given, hasTemplate, isMap } from './fields.ts'
import type { Fields, Problem } from './tool.ts'

export const CODE_FIELDS: FieldTable = {
  code: { types: ['text'] },
  code_b64: { types: ['text'] },
  code_base64: { types: ['text'] },
  script: { types: ['map'], hint: 'script: { uri: path/to/file, source: { type: file } }' },
}

const LONGEST_SCRIPT = 10 * 1024 * 1024

export interface Code {
  readonly text: string
  /** Its name in messages. */
  readonly file: string
}

export function checkCode(config: Fields): Problem[] {
  const hint = 'Write it under code, or name a file: script: { uri: task.py, source: { type: file } }.'
  return [...checkOneOf(config, Object.keys(CODE_FIELDS), { hint }), ...checkScript(config['script'])]
}

export function checkScript(script: Fields[string] | undefined): Problem[] {
  if (script === undefined || !isMap(script)) return []
  const source = isMap(script['source']) ? script['source'] : {}
  const type = source['type']
  if (hasTemplate(type)) return []
  if (type !== 'file' && type !== 'inline') {
    const message = `scripts from ${typeof type === 'string' ? type : 'an unknown source'} are not supported`
    return [{ path: ['script', 'source', 'type'], message, hint: 'Supported are file and inline.' }]
  }
  const [where, path] =
    type === 'file' ? [pathOf(script), ['script', 'uri']] : [source['code'], ['script', 'source', 'code']]
  return where === undefined ? [{ path: path as string[], message: `${(path as string[]).join('.')} is missing` }] : []
}

export async function codeOf(config: Fields, name: string, cwd: string | null): Promise<Code> {
  const script = given(config, 'script')
  if (script !== undefined) return scriptOf(script, { name, cwd, suffix: null })
  const encoded = given(config, 'code_b64', 'code_base64')
  if (encoded !== undefined) return { text: decoded(encoded), file: name }
  const text = given(config, 'code')
  if (typeof text !== 'string') throw misfit('code must be text')
  return { text, file: name }
}

export interface Origin {
  /** The name for inline code. */
  readonly name: string
  readonly cwd: string | null
  /** The required ending of the file's name; null: any. */
  readonly suffix: string | null
}

export async function scriptOf(script: Fields[string], { name, cwd, suffix }: Origin): Promise<Code> {
  const source = isMap(script) && isMap(script['source']) ? script['source'] : {}
  if (source['type'] === 'inline' && typeof source['code'] === 'string') return { text: source['code'], file: name }
  const path = isMap(script) && source['type'] === 'file' ? pathOf(script) : undefined
  if (typeof path !== 'string') throw misfit('script must be { uri: path, source: { type: file } }')
  const missing = (why: string): ToolFault =>
    new ToolFault({ kind: 'not_found', code: 'SCRIPT_NOT_FOUND', message: `script ${path} ${why}` })
  try {
    const given = resolve(cwd ?? '.', path)
    // A database quotes statements in its errors, which would reveal the text of a file that is not a script.
    const file = suffix === null ? given : await realpath(given)
    if (suffix !== null && !(given.endsWith(suffix) && file.endsWith(suffix))) throw missing(`is no ${suffix} file`)
    const found = await stat(file)
    // A pipe or a device may have no end.
    if (!found.isFile() || found.size > LONGEST_SCRIPT) throw missing('is not a file of at most 10 MiB')
    return { text: await readFile(file, 'utf8'), file }
  } catch (error) {
    if (error instanceof ToolFault) throw error
    const { code } = error as NodeJS.ErrnoException
    throw missing(code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`)
  }
}

function pathOf(script: Fields): Fields[string] | undefined {
  const source = isMap(script['source']) ? script['source'] : {}
  return given(script, 'uri', 'path') ?? given(source, 'path', 'uri')
}

function decoded(text: Fields[string]): string {
  if (typeof text !== 'string' || !/^[A-Za-z0-9+/_\s-]*={0,2}\s*$/.test(text)) throw misfit('code_b64 must be base64')
  return Buffer.from(text, 'base64').toString('utf8')
}
