/**
 * Reads chains, groups and batches from a document, whether a file or a request body: which parts are workflows and
 * which are jobs, and how they may be nested. Every mistake is noted; the tree may be used only if there are none.
 */
import { MAX_NESTING } from '../../../kernel/limits.ts'
import type { Part } from '../../../kernel/reading/part.ts'
import { refuseDependencies } from './dependencies.ts'
import { CALLBACKS, type JobTree, KINDS, type Kind, type Tree } from './tree.ts'

export interface TreeRules {
  readonly job: (part: Part) => JobTree
  /** true: an unknown key is a mistake. A file is written by hand; a request may have fields of other versions. */
  readonly knownKeysOnly: boolean
  /** false: names of workflows are ignored, because a file can be run many times. */
  readonly ids: boolean
}

interface Place {
  readonly rules: TreeRules
  readonly level: number
  /** The workflow around it; null: none. */
  readonly inside: Kind | null
  readonly ids: Set<string>
}

type Workflow = Exclude<Tree, JobTree>

const KEYS: Readonly<Record<Kind, readonly string[]>> = {
  chain: ['type', 'id', 'name', 'steps'],
  group: ['type', 'id', 'name', 'jobs'],
  batch: ['type', 'id', 'name', 'jobs', 'callbacks'],
}
const ID = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/
const MAX_TEXT = 255

export function readTree(part: Part, rules: TreeRules): Workflow {
  const place: Place = { rules, level: 1, inside: null, ids: new Set() }
  refuse(part, place)
  return readWorkflow(part, place)
}

/** In a file every unknown key is a mistake anyway. */
function refuse(part: Part, { rules }: Place): void {
  if (!rules.knownKeysOnly && part.isObject) refuseDependencies(part, 'a chain, group or batch')
}

/**
 * Recognised by its structure, because a job may have a type called `group`: a workflow has a list of steps or jobs and
 * no args. If its type is that of a workflow, one of the two is enough.
 */
function isWorkflow(part: Part): boolean {
  const listed = Array.isArray(part.get('steps').value) || Array.isArray(part.get('jobs').value)
  return isKind(part.get('type').value) ? listed || !part.has('args') : listed && !part.has('args')
}

function isKind(value: unknown): value is Kind {
  return (KINDS as readonly unknown[]).includes(value)
}

const STAND_IN: Workflow = { kind: 'chain', steps: [] }

function readWorkflow(part: Part, place: Place): Workflow {
  const kind = part.get('type').value
  if (!isKind(kind)) {
    part.get('type').wrong(`type must be one of: ${KINDS.join(', ')}`)
    return STAND_IN
  }
  if (place.level > MAX_NESTING) {
    part.wrong(`workflows nest at most ${MAX_NESTING} levels deep; this one is on level ${place.level}`)
    return STAND_IN
  }
  if (place.inside === kind) {
    part.wrong(`a ${kind} cannot be directly inside a ${kind}`, `put its ${listOf(kind)} into the outer one`)
  }
  if (place.rules.knownKeysOnly) part.hasOnly(KEYS[kind], `a ${kind}`)
  const about = { ...readId(part.get('id'), place), ...readName(part.get('name')) }
  if (kind === 'chain') {
    if (part.has('callbacks')) part.get('callbacks').wrong('a chain has no callbacks', 'a batch has')
    return { kind, ...about, steps: readList(part, kind, place) }
  }
  const jobs = readList(part, kind, place)
  if (kind === 'batch') return { kind, ...about, jobs, ...readCallbacks(part.get('callbacks'), place) }
  if (part.has('callbacks')) part.get('callbacks').wrong('a group has no callbacks', 'a batch has')
  return { kind, ...about, jobs }
}

function listOf(kind: Kind): 'steps' | 'jobs' {
  return kind === 'chain' ? 'steps' : 'jobs'
}

function readList(part: Part, kind: Kind, place: Place): readonly Tree[] {
  const key = listOf(kind)
  const list = part.get(key)
  if (!list.given) {
    const other = part.get(key === 'steps' ? 'jobs' : 'steps')
    list.wrong(`a ${kind} needs ${key}`, other.given ? `a ${kind} has ${key}, not ${other.path.at(-1)}` : null)
    return []
  }
  if (!Array.isArray(list.value)) {
    list.wrong(`${key} must be an array`)
    return []
  }
  if (list.value.length === 0) list.wrong(`${key} array must contain at least one element`)
  return list.items(key).map((item) => {
    if (!isWorkflow(item)) return place.rules.job(item)
    refuse(item, place)
    return readWorkflow(item, { ...place, level: place.level + 1, inside: kind })
  })
}

type Callbacks = { readonly onComplete: Tree | null; readonly onSuccess: Tree | null; readonly onFailure: Tree | null }

function readCallbacks(part: Part, place: Place): Callbacks {
  const needed = `callbacks must contain at least one of ${CALLBACKS.join(', ')}`
  if (part.given && !part.isObject) part.wrong('callbacks must be an object')
  else if (!part.given) part.wrong(`a batch needs callbacks: ${needed}`, 'a batch without any is a group')
  else {
    part.hasOnly(CALLBACKS, 'callbacks')
    if (!CALLBACKS.some((name) => part.get(name).given)) part.wrong(needed, 'a batch without any is a group')
  }
  const [onComplete, onSuccess, onFailure] = CALLBACKS.map((name) => readCallback(part.get(name), place))
  return { onComplete: onComplete ?? null, onSuccess: onSuccess ?? null, onFailure: onFailure ?? null }
}

function readCallback(part: Part, place: Place): JobTree | null {
  if (!part.given) return null
  if (isWorkflow(part)) {
    part.wrong('a callback is a job, not a workflow')
    return null
  }
  return place.rules.job(part)
}

function readId(part: Part, { rules, ids }: Place): { readonly id?: string } {
  const { value } = part
  if (value === undefined || !rules.ids) return {}
  if (typeof value !== 'string' || value.length > MAX_TEXT || !ID.test(value)) {
    part.wrong(`id must be 1 to ${MAX_TEXT} letters, digits and any of . _ : - (a letter or digit first)`)
    return {}
  }
  if (ids.has(value)) part.wrong(`id '${value}' is used twice in this workflow`)
  ids.add(value)
  return { id: value }
}

function readName(part: Part): { readonly name?: string } {
  if (!part.given) return {}
  if (typeof part.value === 'string' && part.value !== '' && part.value.length <= MAX_TEXT) return { name: part.value }
  part.wrong(`name must be a string of 1 to ${MAX_TEXT} characters`)
  return {}
}
