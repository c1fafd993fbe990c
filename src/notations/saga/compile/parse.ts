/** Sagas: `kind: Saga`, steps that are commands to services. docs/saga.md describes the whole notation. */

import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import { compileNet, NetError } from '../../../net/compile.ts'
import type { Definition } from '../../source/definition.ts'
import { Reader } from '../../source/reader.ts'
import type { Source } from '../../source/source.ts'
import { readTags } from '../../source/tags.ts'
import { subjectProblem } from '../runtime/subject.ts'
import { checkSaga, checkTemplates } from './check.ts'
import { compileSaga } from './compile.ts'
import {
  API_VERSION,
  DEADLINE_MS,
  FAILURE_POLICIES,
  type Message,
  RESEND_MS,
  type Retries,
  type Saga,
  SILENCE_POLICIES,
  type Step,
} from './saga.ts'

const ROOT_FIELDS = ['apiVersion', 'kind', 'metadata', 'spec']
const METADATA_FIELDS = ['name', 'version', 'description', 'labels', 'tags']
const SPEC_FIELDS = ['build', 'onFailure', 'timeout', 'deadline', 'resend', 'steps']
const STEP_FIELDS = ['name', 'command', 'compensation', 'dependsOn', 'onSilence']
/** Names are part of run types, templates and command lines. */
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,127}$/
const NAME_HINT = 'letters, digits, - and _, at most 128; a letter first'
const VERSION = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export function parseSaga(source: Source): Definition {
  const reader = new Reader(source)
  const { root } = reader
  root.hasOnly(ROOT_FIELDS, 'a saga')
  if (root.get('apiVersion').given) root.get('apiVersion').choice('apiVersion', [API_VERSION])
  else root.wrong('a saga needs an apiVersion', `apiVersion: ${API_VERSION}`)
  const metadata = readMetadata(root.get('metadata'))
  const spec = root.get('spec')
  if (!spec.given) root.wrong('a saga needs a spec', 'spec: { steps: [ … ] }')
  const saga = readSpec(spec, metadata)
  checkSaga(saga, reader)
  if (reader.clean) checkTemplates(saga, reader)
  reader.throwIfWrong()
  const net = compileSaga(saga)
  try {
    compileNet(net)
  } catch (error) {
    if (!(error instanceof NetError)) throw error
    for (const { message } of error.problems) reader.note({ path: ['spec', 'steps'], message, hint: null })
  }
  reader.throwIfWrong()
  const { description, tags } = metadata
  return {
    dialect: 'saga',
    name: saga.name,
    version: saga.version,
    start: {
      net,
      ...(tags.length === 0 ? {} : { tags }),
      ...(description === null ? {} : { meta: { description } }),
    },
  }
}

interface Metadata {
  readonly name: string
  readonly version: string
  readonly description: string | null
  readonly tags: readonly string[]
}

function readMetadata(part: Part): Metadata {
  if (!part.given) part.wrong('a saga needs metadata', 'metadata: { name: provision_parties }')
  const known = part.given && part.hasOnly(METADATA_FIELDS, 'metadata')
  const name = part.get('name')
  if (known && !name.given) part.wrong('metadata names the saga', 'name: provision_parties')
  const text = name.text('the name of a saga')
  if (text !== null && !NAME.test(text)) name.wrong(`${kindOf(text)} cannot be the name of a saga`, NAME_HINT)
  part.get('labels').entries('labels')
  return {
    name: text ?? '?',
    version: readVersion(part.get('version')),
    description: part.get('description').text('description'),
    tags: readTags(part.get('tags')),
  }
}

/** YAML reads 1 as a number, and 1.10 as 1.1, which no author means. */
function readVersion(part: Part): string {
  const { value } = part
  if (typeof value === 'number' && Number.isInteger(value)) return String(value)
  const text = part.text('version')
  if (text !== null && !VERSION.test(text))
    part.wrong(`${kindOf(text)} cannot be a version`, "for example '1' or '2.1'")
  return text ?? '1'
}

function readSpec(spec: Part, { name, version }: Metadata): Saga {
  const known = spec.given && spec.hasOnly(SPEC_FIELDS, 'a spec')
  const build = spec.get('build').choice('build', ['template', 'code']) ?? 'template'
  const pace = readPace(spec)
  const list = spec.get('steps')
  if (known && !list.given) spec.wrong('a spec has steps', 'steps: [{ name: save_party, command: { subject: … } }]')
  const steps = list.items('steps').map((part) => readStep(part, pace, build === 'code'))
  if (Array.isArray(list.value) && steps.length === 0) list.wrong('steps is empty', 'at least one step')
  const timeout = spec.get('timeout')
  const timeoutMs = timeout.duration('timeout')
  if (timeoutMs === 0) timeout.wrong('timeout must be longer than zero', 'for example 30s, 5m or 24h')
  const onFailure = spec.get('onFailure').choice('onFailure', FAILURE_POLICIES) ?? 'compensate'
  return { name, version, build, onFailure, timeoutMs, steps }
}

function readStep(part: Part, pace: Pace, code: boolean): Step {
  const known = part.hasOnly(STEP_FIELDS, 'a step')
  const name = part.get('name')
  if (known && !name.given) part.wrong('a step needs a name', 'name: save_party')
  const text = name.text('the name of a step')
  if (text !== null && !NAME.test(text)) name.wrong(`${kindOf(text)} cannot be the name of a step`, NAME_HINT)
  const command = readMessage(part.get('command'), 'a command', pace, code)
  if (known && !part.get('command').given)
    part.wrong('a step has a command', 'command: { subject: refdata.v1.parties.save }')
  return {
    name: text ?? '',
    command: command ?? {
      subject: '',
      body: undefined,
      ...pace,
      retries: { max: 0, delayMs: 0, maxDelayMs: 0 },
      path: part.path,
    },
    compensation: readMessage(part.get('compensation'), 'a compensation', pace, code),
    dependsOn: part.get('dependsOn').given ? readNames(part.get('dependsOn')) : null,
    onSilence: part.get('onSilence').choice('onSilence', SILENCE_POLICIES) ?? 'stop',
    path: part.path,
  }
}

function readNames(part: Part): readonly string[] {
  return [...new Set(part.items('dependsOn').flatMap((item) => item.text('the name of a step') ?? []))]
}

const FIELDS = ['subject', 'body', 'deadline', 'resend', 'retry']
const RETRY_FIELDS = ['max', 'delay', 'maxDelay']
const NO_RETRIES: Retries = { max: 0, delayMs: 1000, maxDelayMs: 60_000 }

/** Given once for all steps. */
interface Pace {
  readonly deadlineMs: number
  readonly resendMs: number
}

function readPace(part: Part): Pace {
  return {
    deadlineMs: readLength(part.get('deadline'), 'deadline') ?? DEADLINE_MS,
    resendMs: readLength(part.get('resend'), 'resend') ?? RESEND_MS,
  }
}

/** `code`: its body is built by a program, so none may be given here. */
function readMessage(part: Part, what: string, pace: Pace, code: boolean): Message | null {
  if (!part.given) return null
  if (!part.hasOnly(FIELDS, what)) return null
  const subject = part.get('subject')
  const text = subject.text('subject')
  if (!subject.given) part.wrong(`${what} needs a subject`, 'subject: refdata.v1.parties.save')
  const problem = text === null ? null : subjectProblem(text)
  if (problem !== null) subject.wrong(problem.message, problem.hint)
  const body = part.get('body')
  if (code && part.has('body'))
    body.wrong('the bodies of this saga are built by code', 'leave it out, or build: template')
  return {
    subject: text ?? '',
    body: part.has('body') ? body.json() : undefined,
    deadlineMs: readLength(part.get('deadline'), 'deadline') ?? pace.deadlineMs,
    resendMs: readLength(part.get('resend'), 'resend') ?? pace.resendMs,
    retries: readRetries(part.get('retry')),
    path: part.path,
  }
}

function readRetries(part: Part): Retries {
  if (!part.given || !part.hasOnly(RETRY_FIELDS, 'retry')) return NO_RETRIES
  return {
    max: part.get('max').whole('max (times it is sent again)', { least: 0, most: 1000 }) ?? 3,
    delayMs: part.get('delay').duration('delay') ?? NO_RETRIES.delayMs,
    maxDelayMs: part.get('maxDelay').duration('maxDelay') ?? NO_RETRIES.maxDelayMs,
  }
}

function readLength(part: Part, what: string): number | null {
  const ms = part.duration(what)
  if (ms !== 0) return ms
  part.wrong(`${what} must be longer than zero, not ${kindOf(part.value)}`, 'for example 30s, 5m or 24h')
  return null
}
