/** A workflow as a client posts it: checked as a whole, then converted to the engine's terms. */

import { type Mistake, pathText } from '../../../kernel/reading/mistakes.ts'
import { BodyNotes, Part } from '../../../kernel/reading/part.ts'
import { EngineKey } from '../../../kernel/scoped-names.ts'
import type { LimitParams } from '../../../model/limits.ts'
import type { StartParams } from '../../../model/start.ts'
import { aboutJobs, buildWorkflow } from './builder.ts'
import { jobTree, readJob } from './job.ts'
import { needsClock } from './options.ts'
import type { JobTree } from './tree.ts'
import { readTree } from './tree-reader.ts'
import { startKeyOf } from './workflow-id.ts'

export interface WorkflowMistake {
  /** `$.steps[1].jobs[0].type` */
  readonly path: string
  readonly message: string
  readonly hint?: string
}

export interface WorkflowBy {
  /** The store's clock. */
  readonly now: number
  readonly tenant: string | null
  readonly initiator: string | null
}

/** Either a workflow or every mistake in it. State, metadata and counters belong to the server and are not read. */
export function readWorkflow(
  body: unknown,
  by: WorkflowBy,
): { readonly start: StartParams; readonly jobs: number } | { readonly mistakes: readonly WorkflowMistake[] } {
  const notes = new BodyNotes()
  const limits: LimitParams[] = []
  const job = (part: Part): JobTree => jobOf(part, by.now, limits)
  const tree = readTree(notes.root(body), { job, knownKeysOnly: false, ids: true })
  if (notes.mistakes.length > 0) return { mistakes: notes.mistakes.map(mistakeWire) }
  const { start, jobs, nested, names } = buildWorkflow(tree, { startKey: (id) => startKeyOf(id, by.tenant) })
  return {
    jobs,
    start: {
      ...start,
      names,
      ...(limits.length === 0 ? {} : { limits }),
      ...(tree.id === undefined ? {} : { startKey: new EngineKey(startKeyOf(tree.id, by.tenant)) }),
      ...(nested ? { meta: aboutJobs(jobs) } : {}),
      ...(by.tenant === null ? {} : { tenant: by.tenant }),
      ...(by.initiator === null ? {} : { initiator: by.initiator }),
    },
  }
}

/** Whether one of its jobs has a time counted from now. */
export function asksForClock(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false
  if (needsClock(body)) return true
  const { steps, jobs, callbacks } = body as { readonly [key: string]: unknown }
  const below = [steps, jobs].flatMap((list) => (Array.isArray(list) ? list : []))
  const fired = typeof callbacks === 'object' && callbacks !== null ? Object.values(callbacks) : []
  return [...below, ...fired].some(asksForClock)
}

/**
 * The jobs of a workflow get their ids when they are enqueued; the id that a client gives a step is stored as its name.
 */
function jobOf(part: Part, now: number, limits: LimitParams[]): JobTree {
  if (!part.isObject) return jobTree(readJob(part, now))
  const { id, ...rest } = part.value as { readonly [key: string]: unknown }
  const job = readJob(new Part(part.notes, rest, part.path), now)
  limits.push(...job.options.limits)
  return jobTree(typeof id === 'string' ? { ...job, envelope: { ...job.envelope, step: id } } : job)
}

function mistakeWire({ path, message, hint }: Mistake): WorkflowMistake {
  const text = pathText(path)
  const at = text === '' ? '$' : text.startsWith('[') ? `$${text}` : `$.${text}`
  return { path: at, message, ...(hint === null ? {} : { hint }) }
}
