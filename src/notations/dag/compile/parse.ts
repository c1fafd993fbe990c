/**
 * Workflows of steps that depend on each other: `apiVersion: ioa.dev/v0.2`, `kind: Workflow`. docs/dag.md describes the
 * whole notation. Unknown fields cause a warning and are ignored.
 */

import type { Part } from '../../../kernel/reading/part.ts'
import type { Json } from '../../../net/net.ts'
import type { Definition } from '../../source/definition.ts'
import type { Others } from '../../source/named-definitions.ts'
import type { Source } from '../../source/source.ts'
import { Children } from './children.ts'
import { compileWorkflow } from './compile.ts'
import { lintWorkflow } from './lint.ts'
import { readMetadata } from './metadata.ts'
import { Nested } from './nested.ts'
import { Reading } from './reading.ts'
import { checkWorkflow } from './rules.ts'
import { checkNet, FLOW_FIELDS, readWorkflow } from './spec.ts'
import { checkTemplates } from './templates.ts'
import { readTrigger } from './trigger.ts'

const API_VERSION = 'ioa.dev/v0.2'
const SPEC_FIELDS = [...FLOW_FIELDS, 'trigger', 'maxConcurrent', 'workflows']
const ROOT_FIELDS = ['apiVersion', 'kind', 'metadata', 'spec', 'status']

export async function parseDag(source: Source, others: Others): Promise<Definition> {
  const reading = new Reading(source)
  const { root } = reading.reader
  reading.fields(root, ROOT_FIELDS, 'a workflow')
  if (root.get('apiVersion').given) root.get('apiVersion').choice('apiVersion', [API_VERSION])
  else root.wrong('a workflow needs an apiVersion', `apiVersion: ${API_VERSION}`)
  const metadata = readMetadata(root.get('metadata'), reading)
  const spec = root.get('spec')
  if (!spec.given) root.wrong('a workflow needs a spec', 'spec: { steps: [ … ] }')
  const trigger = readTrigger(spec.get('trigger'), reading)
  const description = spec.get('description').text('description')
  const domains = readDomains(spec.get('domainsInvolved'))
  const slots = spec.get('maxConcurrent').whole('maxConcurrent (instances that execute at once)', { least: 1 })
  const workflow = readWorkflow(spec, metadata.name, SPEC_FIELDS, null, reading)
  const nested = new Nested(workflow, spec.get('workflows'), others, reading)
  await nested.find()
  for (const one of nested.workflows) checkWorkflow(one, reading.reader)
  if (reading.reader.clean) for (const one of nested.workflows) checkTemplates(one, nested, reading)
  reading.reader.throwIfWrong()
  for (const one of nested.workflows) lintWorkflow(one, nested, reading)
  const children = new Children(nested, reading)
  const net = compileWorkflow(workflow, (step) => children.reference(step))
  checkNet(net, workflow, reading)
  reading.reader.throwIfWrong()
  const meta: { readonly [key: string]: Json } = {
    ...metadata.about,
    ...(description === null ? {} : { description }),
    ...(domains === null ? {} : { domainsInvolved: domains }),
  }
  const literals = children.literals(workflow)
  return {
    dialect: 'dag',
    name: workflow.name,
    ...(metadata.version === null ? {} : { version: metadata.version }),
    ...(trigger === null ? {} : { trigger }),
    warnings: reading.warnings,
    start: {
      net,
      nets: children.nets,
      ...(Object.keys(literals).length === 0 ? {} : { literals }),
      ...(slots === null ? {} : { slots }),
      ...(metadata.tags.length === 0 ? {} : { tags: metadata.tags }),
      ...(Object.keys(meta).length === 0 ? {} : { meta }),
    },
  }
}

function readDomains(part: Part): readonly string[] | null {
  if (!part.given) return null
  if (Array.isArray(part.value) && part.value.length === 0)
    part.wrong('domainsInvolved is empty', 'at least one domain')
  return part.items('domainsInvolved').flatMap((item) => item.text('a domain') ?? [])
}
