/** Which secrets a playbook may read, and their sources. Their values are never in the file. */
import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import type { Secret } from './playbook.ts'
import type { Reading } from './reading.ts'

const FIELDS = ['name', 'kind', 'map', 'ref', 'var', 'path', 'scope', 'desc', 'description']
const ONE = { env: 'var', file: 'path' } as const

export function readKeychain(part: Part, reading: Reading): readonly Secret[] {
  const secrets: Secret[] = []
  for (const item of part.items('keychain')) {
    const secret = readSecret(item, reading)
    if (secret === null) continue
    const before = secrets.find((s) => s.name === secret.name)
    if (before !== undefined) {
      item
        .get('name')
        .wrong(`there are two entries '${secret.name}'`, `the first is in line ${reading.line(before.path)}`)
    }
    secrets.push(secret)
  }
  return secrets
}

function readSecret(part: Part, reading: Reading): Secret | null {
  if (!part.isObject) {
    part.wrong(`an entry of the keychain must be a mapping, not ${kindOf(part.value)}`, 'name, kind, map')
    return null
  }
  const name = part.get('name')
  if (!name.given) part.wrong('an entry of the keychain needs a name', 'name: api')
  const text = name.text('the name of an entry')
  const kind = part.get('kind')
  if (!kind.given) part.wrong('an entry of the keychain needs a kind', 'kind: env or kind: file')
  const word = kind.text('kind')
  if (word !== null && word !== 'env' && word !== 'file') {
    return { name: text ?? '?', kind: null, map: null, ref: null, path: part.path }
  }
  if (word !== null) reading.fields(part, FIELDS, 'an entry of the keychain')
  const own = word === null ? part.get('ref') : reading.either(part, 'ref', ONE[word])
  const ref = own.text('ref')
  const map = readMap(part.get('map'))
  if (word === 'env' && (map === null) === (ref === null)) {
    part.wrong(
      'an entry of kind env names its variables: ref for one, map for several',
      'ref: API_TOKEN, or map: { user: DB_USER, password: DB_PASSWORD }',
    )
  }
  if (word === 'file' && ref === null)
    part.wrong('an entry of kind file needs the path of the file', 'ref: secrets/api.json')
  return { name: text ?? '?', kind: word, map, ref, path: part.path }
}

function readMap(part: Part): { readonly [key: string]: string } | null {
  if (!part.given) return null
  return Object.fromEntries(
    part.entries('map').map(([key, value]) => {
      if (!value.given) value.wrong(`'${key}' names no variable`, `${key}: VARIABLE`)
      return [key, value.text('the name of a variable') ?? ''] as const
    }),
  )
}
