/**
 * Workflows of steps that depend on each other: `apiVersion: ioa.dev/v0.2`, `kind: Workflow`. docs/dag.md shows all of
 * it. The root is closed; inside, fields nobody knows are warned of and ignored, as the published schema leaves them open.
 */
import type { Json } from '../../net/net.ts'
import type { Definition } from '../definition.ts'
import type { Part } from '../reader.ts'
import type { Source } from '../source.ts'
import { compileWorkflow } from './compile.ts'
import { readMetadata } from './metadata.ts'
import { Nested } from './nested.ts'
import { Reading } from './reading.ts'
import { checkNet, FLOW_FIELDS, readWorkflow } from './spec.ts'
import { readTrigger } from './trigger.ts'

const API_VERSION = 'ioa.dev/v0.2'
const SPEC_FIELDS = [...FLOW_FIELDS, 'trigger', 'workflows']

export function parseDag(source: Source): Definition {
  const reading = new Reading(source)
  const { root } = reading.reader
  root.hasOnly(['apiVersion', 'kind', 'metadata', 'spec', 'status'], 'a workflow')
  if (root.get('apiVersion').given) root.get('apiVersion').choice('apiVersion', [API_VERSION])
  else root.wrong('a workflow says its apiVersion', `apiVersion: ${API_VERSION}`)
  const metadata = readMetadata(root.get('metadata'), reading)
  const spec = root.get('spec')
  if (!spec.given) root.wrong('a workflow needs a spec', 'spec: { steps: [ … ] }')
  const trigger = readTrigger(spec.get('trigger'), reading)
  const description = spec.get('description').text('description')
  const domains = readDomains(spec.get('domainsInvolved'))
  const workflow = readWorkflow(spec, metadata.name, SPEC_FIELDS, reading)
  const nested = new Nested(spec.get('workflows'), reading)
  nested.readFor(workflow)
  reading.reader.throwIfWrong()
  const net = compileWorkflow(workflow, (step) => nested.reference(step))
  checkNet(net, workflow, reading)
  reading.reader.throwIfWrong()
  const meta: { readonly [key: string]: Json } = {
    ...metadata.about,
    ...(description === null ? {} : { description }),
    ...(domains === null ? {} : { domainsInvolved: domains }),
  }
  return {
    dialect: 'dag',
    name: workflow.name,
    ...(metadata.version === null ? {} : { version: metadata.version }),
    ...(trigger === null ? {} : { trigger }),
    warnings: reading.warnings,
    start: { net, nets: nested.nets, ...(Object.keys(meta).length === 0 ? {} : { meta }) },
  }
}

function readDomains(part: Part): readonly string[] | null {
  if (!part.given) return null
  return part.items('domainsInvolved').flatMap((item) => item.text('a domain') ?? [])
}
