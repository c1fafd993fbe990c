/**
 * Playbooks: `apiVersion: noetl.io/v2` (or v10), `kind: Playbook`, in both spellings of that version. docs/playbook.md
 * describes the whole notation.
 */
import { compileNet, NetError } from '../../../net/compile.ts'
import type { Net } from '../../../net/net.ts'
import { Tools } from '../../../tools/tools.ts'
import type { Definition } from '../../source/definition.ts'
import type { Others } from '../../source/others.ts'
import { closest, kindOf, type Part } from '../../source/reader.ts'
import type { Source } from '../../source/source.ts'
import { Check, type ToolTable } from '../check/check.ts'
import { Graph } from '../check/graph.ts'
import { mentionsOf } from '../check/mentions.ts'
import { checkNames } from '../check/names.ts'
import { checkSoundness } from '../check/soundness.ts'
import { Children, refuseRing } from '../compile/children.ts'
import { compilePlaybook } from '../compile/compile.ts'
import { readExecutor } from './executor.ts'
import { joinsOf } from './joins.ts'
import { readKeychain } from './keychain.ts'
import { readMetadata } from './metadata.ts'
import type { Playbook, Step } from './playbook.ts'
import { Reading, templatesOf } from './reading.ts'
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
  else if (!Array.isArray(part.value)) part.wrong(`workflow is a list of steps, this is ${kindOf(part.value)}`, hint)
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
