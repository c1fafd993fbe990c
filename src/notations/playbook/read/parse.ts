/**
 * Playbooks: `apiVersion: noetl.io/v2` (or v10), `kind: Playbook`, in both spellings of that version. docs/playbook.md
 * describes the whole notation.
 */

import { closest, kindOf, type Part } from '../../../kernel/reading/part.ts'
import { compileNet, NetError } from '../../../net/compile.ts'
import type { Json, Net } from '../../../net/net.ts'
import { Tools } from '../../../tools/tools.ts'
import type { Definition } from '../../source/definition.ts'
import type { Others } from '../../source/named-definitions.ts'
import type { Source } from '../../source/source.ts'
import { tagsAmong } from '../../source/tags.ts'
import { Check, type ToolTable } from '../check/check.ts'
import { Graph } from '../check/graph.ts'
import { mentionsOf } from '../check/mentions.ts'
import { checkNames } from '../check/names.ts'
import { checkSoundness } from '../check/soundness.ts'
import { Children, refuseRing } from '../compile/children.ts'
import { compilePlaybook } from '../compile/compile.ts'
import { joinsOf } from './joins.ts'
import { readKeychain } from './keychain.ts'
import type { Executor, Playbook, Step } from './playbook.ts'
import { Reading, readSeconds, templatesOf } from './reading.ts'
import { readStep } from './step.ts'
import { Workbook } from './workbook.ts'

const VERSIONS = ['noetl.io/v2', 'noetl.io/v10']
const ROOT = ['apiVersion', 'kind', 'metadata', 'keychain', 'executor', 'workload', 'workflow', 'workbook']

export async function parsePlaybook(source: Source, others: Others): Promise<Definition> {
  const reading = new Reading(source, others.strict)
  const { root } = reading.reader
  checkRoot(root, reading)
  const metadata = readMetadata(root.get('metadata'), reading)
  refuseRing(source.file, metadata.name, others)
  const workbook = new Workbook(root.get('workbook'), reading)
  const playbook: Playbook = {
    name: metadata.name,
    keychain: readKeychain(root.get('keychain'), reading),
    executor: readExecutor(root.get('executor'), reading),
    workload: templatesOf(root.get('workload'), 'workload') ?? {},
    steps: readSteps(root.get('workflow'), workbook, reading),
  }
  const tools: ToolTable = others.tools ?? Tools.standard()
  new Check(playbook, tools, reading).check(workbook.tasks)
  const children = new Children(playbook, others, reading)
  await children.find()
  const verbatim = (kind: string): readonly string[] => tools.find(kind)?.verbatim ?? []
  const mentions = new Map(playbook.steps.map((step) => [step.name, mentionsOf(step, verbatim, reading)]))
  if (reading.reader.clean) checkNames(playbook, mentions, reading)
  reading.reader.throwIfWrong()
  const graph = new Graph(playbook)
  const reached = graph.reached([graph.entry])
  const joins = joinsOf(playbook, graph, reached)
  checkSoundness({ playbook, graph, joins, reached, mentions }, reading)
  const net = compilePlaybook({ playbook, graph, joins, reached, mentions, children, reading })
  checkNet(net, reading)
  reading.reader.throwIfWrong()
  const literals = children.literals()
  return {
    dialect: 'playbook',
    name: metadata.name,
    ...(metadata.version === null ? {} : { version: metadata.version }),
    warnings: reading.warnings,
    start: {
      net,
      nets: children.nets,
      ...(Object.keys(literals).length === 0 ? {} : { literals }),
      ...(metadata.tags.length === 0 ? {} : { tags: metadata.tags }),
      ...(Object.keys(metadata.about).length === 0 ? {} : { meta: metadata.about }),
    },
  }
}

/** An unknown key of the root could have been meant to do something: it is refused, not ignored. */
function checkRoot(root: Part, reading: Reading): void {
  for (const key of Object.keys(root.value as object)) {
    if (ROOT.includes(key)) continue
    const near = closest(key, ROOT)
    const hint =
      key === 'vars' || key === 'spec'
        ? 'workload: { … } holds the values a playbook begins with'
        : near === null
          ? `sections: ${ROOT.join(', ')}`
          : `did you mean '${near}'?`
    reading.reader.note({ path: [key], onKey: true, message: `a playbook has no section '${key}'`, hint })
  }
  if (root.get('apiVersion').given) root.get('apiVersion').choice('apiVersion', VERSIONS)
  else root.wrong('a playbook needs an apiVersion', `apiVersion: ${VERSIONS[0]}`)
  if (root.get('kind').given) root.get('kind').choice('kind', ['Playbook'])
  else root.wrong('a playbook needs its kind', 'kind: Playbook')
}

function readSteps(part: Part, workbook: Workbook, reading: Reading): readonly Step[] {
  const hint = 'workflow: [{ step: first, tool: { kind: python, code: … } }]'
  if (!part.given) reading.reader.root.wrong('a playbook has a workflow', hint)
  else if (!Array.isArray(part.value)) part.wrong(`workflow must be a list of steps, not ${kindOf(part.value)}`, hint)
  else if (part.value.length === 0) part.wrong('workflow is empty', 'at least one step')
  if (!Array.isArray(part.value)) return []
  return part.items('workflow').flatMap((item) => readStep(item, workbook, reading) ?? [])
}

/** The net's own rules, in case the notation's did not cover them. Templates were already checked at their places. */
function checkNet(net: Net, reading: Reading): void {
  try {
    compileNet(net)
  } catch (error) {
    if (!(error instanceof NetError)) throw error
    for (const { path, message } of error.problems)
      reading.wrong(['workflow'], `${path}: ${message}`, 'simplify the steps it names')
  }
}

const EXECUTOR_FIELDS = ['profile', 'kind', 'version', 'requires', 'spec']
const SPEC = ['entry_step', 'final_step', 'no_next_is_error', 'queue', 'timeout', 'policy']
const POLICY = ['failed_on', 'partial', 'pending', 'final_step_failure', 'join', 'limits', 'defaults', 'results']

/** Longer arguments are stored out of line and passed as references. */
const MAX_PAYLOAD_BYTES = 65_536

/** The first step, the final step, and the condition for success. */
function readExecutor(part: Part, reading: Reading): Executor {
  if (part.given) reading.fields(part, EXECUTOR_FIELDS, 'executor')
  const profile = part.get('profile')
  if (profile.given) profile.choice('profile', ['local', 'distributed', 'auto'])
  const requires = part.get('requires')
  if (requires.given) reading.fields(requires, ['tools', 'features'], 'requires')
  const spec = part.get('spec')
  if (spec.given) reading.fields(spec, SPEC, 'executor.spec')
  const policy = spec.get('policy')
  if (policy.given)
    reading.fields(policy, POLICY, 'executor.spec.policy', { lifecycle: 'executor: { spec: { timeout: … } }' })
  const limits = policy.get('limits')
  if (limits.given) reading.fields(limits, ['max_payload_bytes'], 'limits')
  warnOfDefaults(policy.get('defaults'), reading)
  return {
    entry: spec.get('entry_step').text('entry_step'),
    final: spec.get('final_step').text('final_step'),
    noNextIsError: spec.get('no_next_is_error').flag('no_next_is_error') ?? false,
    queue: spec.get('queue').text('queue'),
    timeoutMs: readSeconds(spec.get('timeout'), 'timeout'),
    failedOn: policy.get('failed_on').choice('failed_on', ['unhandled', 'any', 'fail_fast']) ?? 'unhandled',
    partial: policy.get('partial').flag('partial') ?? false,
    pending: policy.get('pending').choice('pending', ['wait', 'complete']) ?? 'wait',
    finalStepFailure: policy.get('final_step_failure').choice('final_step_failure', ['fail', 'partial']) ?? 'fail',
    join: policy.get('join').choice('join', ['each', 'all']) ?? 'each',
    maxPayloadBytes: limits.get('max_payload_bytes').whole('max_payload_bytes', { least: 256 }) ?? MAX_PAYLOAD_BYTES,
    requires: readRequired(requires.get('tools')),
    path: spec.path,
  }
}

/** Layers of defaults exist only in the notation's documents; an author would rely on a timeout that has no effect. */
function warnOfDefaults(part: Part, reading: Reading): void {
  if (!part.isObject) return
  for (const key of Object.keys(part.value as object)) {
    reading.idle(part.get(key), 'defaults are not inherited', 'set it on each step')
  }
}

/** Kinds of tools that workers provide. */
function readRequired(part: Part): readonly string[] {
  return part.items('tools').flatMap((item) => item.text('the kind of a tool') ?? [])
}

/** Name, version and everything else that describes a playbook without changing its behaviour. */
interface Metadata {
  readonly name: string
  readonly version: string | null
  readonly tags: readonly string[]
  /** Only what was given. */
  readonly about: { readonly [key: string]: Json }
}

const DESCRIPTIVE = ['path', 'description', 'tags', 'labels']
const METADATA_FIELDS = [
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

function readMetadata(part: Part, reading: Reading): Metadata {
  if (!part.given) {
    part.wrong('a playbook needs metadata', 'metadata: { name: load_orders }')
    return { name: '?', version: null, tags: [], about: {} }
  }
  const known = reading.fields(part, METADATA_FIELDS, 'metadata')
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
    tags: tagsAmong(part.get('tags').value),
    about: { ...(version === null ? {} : { version }), ...Object.fromEntries(described) },
  }
}

function readVersion(part: Part): string | null {
  return typeof part.value === 'number' ? String(part.value) : part.text('version')
}
