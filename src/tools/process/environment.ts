/** The environment of a child process: never that of this one, which contains its secrets. */
import type { Json } from '../../net/net.ts'
import { misfit } from '../envelope.ts'
import { isMap } from '../fields.ts'

const INHERITED = ['PATH', 'HOME', 'LANG']

export function childEnvironment(...given: readonly (Json | undefined)[]): Record<string, string> {
  const env: Record<string, string> = {}
  for (const name of INHERITED) {
    const value = process.env[name]
    if (value !== undefined) env[name] = value
  }
  for (const map of given) {
    if (map === undefined || map === null) continue
    if (!isMap(map)) throw misfit('env must be a map of names to values')
    for (const [name, value] of Object.entries(map)) {
      if (value !== null) env[name] = typeof value === 'string' ? value : JSON.stringify(value)
    }
  }
  return env
}
