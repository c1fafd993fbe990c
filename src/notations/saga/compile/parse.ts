/** Sagas: `kind: Saga`, steps that are commands to services. docs/saga.md describes the whole notation. */
import { compileNet, NetError } from '../../../net/compile.ts'
import type { Definition } from '../../source/definition.ts'
import { kindOf, type Part, Reader } from '../../source/reader.ts'
import type { Source } from '../../source/source.ts'
import { checkSaga } from './check.ts'
import { compileSaga } from './compile.ts'
import { type Pace, readMessage, readPace } from './message.ts'
import { API_VERSION, FAILURE_POLICIES, type Saga, SILENCE_POLICIES, type Step } from './saga.ts'
import { checkTemplates } from './templates.ts'

const ROOT_FIELDS = ['apiVersion', 'kind', 'metadata', 'spec']
const METADATA_FIELDS = ['name', 'version', 'description', 'labels']
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
  const { description } = metadata
  return {
    dialect: 'saga',
    name: saga.name,
    version: saga.version,
    start: { net, ...(description === null ? {} : { meta: { description } }) },
  }
}

interface Metadata {
  readonly name: string
  readonly version: string
  readonly description: string | null
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
  if (timeoutMs === 0) timeout.wrong('timeout is longer than nothing', 'for example 30s, 5m or 24h')
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
