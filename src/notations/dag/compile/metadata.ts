/** Name, version and everything else that describes a workflow without changing its behaviour. */

import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import type { Json } from '../../../net/net.ts'
import { readTags } from '../../source/tags.ts'
import type { Reading } from './reading.ts'

export interface Metadata {
  readonly name: string
  readonly version: string | null
  readonly tags: readonly string[]
  /** Only what was given. */
  readonly about: { readonly [key: string]: Json }
}

const FIELDS = ['name', 'owner', 'labels', 'annotations', 'tags', 'version', 'createdAt', 'updatedAt']
const NAME = /^[a-z][a-z0-9-]{0,127}$/

export function readMetadata(part: Part, reading: Reading): Metadata {
  if (!part.given) {
    part.wrong('a workflow needs metadata', 'metadata: { name: onboarding }')
    return { name: '?', version: null, tags: [], about: {} }
  }
  const known = reading.fields(part, FIELDS, 'metadata')
  const name = part.get('name')
  if (known && !name.given) part.wrong('metadata names the workflow', 'name: onboarding')
  const text = name.text('the name of a workflow')
  if (text !== null) checkName(name, text)
  const version = readVersion(part.get('version'), reading)
  const about = {
    version,
    owner: readOwner(part.get('owner'), reading),
    labels: readMapping(part.get('labels'), 'labels'),
    annotations: readMapping(part.get('annotations'), 'annotations'),
  }
  return {
    name: text ?? '?',
    version,
    tags: readTags(part.get('tags')),
    about: Object.fromEntries(Object.entries(about).filter(([, value]) => value !== null)),
  }
}

export function checkName(part: Part, name: string): void {
  if (NAME.test(name)) return
  part.wrong(`${kindOf(name)} cannot be the name of a workflow`, 'small letters, digits and -; a letter first')
}

/** YAML reads 1.0 as the number 1. */
function readVersion(part: Part, reading: Reading): string | null {
  if (typeof part.value !== 'number') return part.text('version')
  reading.warn(part.path, `version was read as the number ${part.value}`, "write it in quotes: version: '1.0'")
  return String(part.value)
}

function readOwner(part: Part, reading: Reading): Json | null {
  if (!part.isObject) return part.text('owner')
  reading.fields(part, ['name', 'role'], 'an owner')
  if (!part.has('name')) part.wrong('an owner has a name', 'owner: { name: growth, role: team }')
  const name = part.get('name').text('name')
  const role = part.get('role').text('role')
  return { name, ...(role === null ? {} : { role }) }
}

function readMapping(part: Part, what: string): Json | null {
  if (part.given && !part.isObject)
    part.wrong(`${what} must be a mapping, not ${kindOf(part.value)}`, `${what}: { team: growth }`)
  return part.isObject ? part.json() : null
}
