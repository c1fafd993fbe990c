/** Name, version and everything else that describes a playbook without changing its behaviour. */
import type { Json } from '../../../net/net.ts'
import { kindOf, type Part } from '../../source/reader.ts'
import type { Reading } from './reading.ts'

export interface Metadata {
  readonly name: string
  readonly version: string | null
  /** Only what was given. */
  readonly about: { readonly [key: string]: Json }
}

const DESCRIPTIVE = ['path', 'description', 'tags', 'labels']
const FIELDS = [
  'name',
  'version',
  ...DESCRIPTIVE,
  'exposed_in_ui',
  'exposes_as_mcp',
  'agent',
  'capabilities',
  'annotations',
]
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.:/ -]{0,127}$/

export function readMetadata(part: Part, reading: Reading): Metadata {
  if (!part.given) {
    part.wrong('a playbook needs metadata', 'metadata: { name: load_orders }')
    return { name: '?', version: null, about: {} }
  }
  const known = reading.fields(part, FIELDS, 'metadata')
  const name = part.get('name')
  if (known && !name.given) part.wrong('metadata names the playbook', 'name: load_orders')
  const text = name.text('the name of a playbook')
  if (text !== null && !NAME.test(text)) {
    name.wrong(
      `${kindOf(text)} cannot be the name of a playbook`,
      'letters, digits and _ - . : / at most 128, a letter or digit first',
    )
  }
  const version = readVersion(part.get('version'))
  const described = DESCRIPTIVE.filter((key) => part.get(key).given).map((key) => [key, part.get(key).json()] as const)
  return {
    name: text ?? '?',
    version,
    about: { ...(version === null ? {} : { version }), ...Object.fromEntries(described) },
  }
}

function readVersion(part: Part): string | null {
  return typeof part.value === 'number' ? String(part.value) : part.text('version')
}
