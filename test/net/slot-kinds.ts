/** Which declared kinds of slots a key could be of. */
import { SLOT_KINDS } from '../../src/net/slots.ts'

const VARIABLES: Readonly<Record<string, string>> = {
  '<node>': '.+',
  '<name>': '.+',
  '<run>': '[0-9a-f-]{36}',
  '<0000000000>': '\\d{10,}',
}

const MATCHERS = SLOT_KINDS.map(({ name, pattern }) => {
  const source = pattern
    .replace(/\[(.+)\]$/, '(?:$1)?')
    .replace(/<[^>]+>/g, (variable) => VARIABLES[variable] ?? '-?\\d+')
  return { name, matches: new RegExp(`^${source}$`, 's') }
})

export function kindsOf(key: string): readonly string[] {
  return MATCHERS.filter(({ matches }) => matches.test(key)).map(({ name }) => name)
}
