/** Workflows as a client posts them, and as they are shown: src/notations/ojs/project writes them, this describes them. */
import type { Json } from '../../../../net/net.ts'
import {
  anything,
  component,
  entries,
  flag,
  list,
  named,
  nullable,
  object,
  oneOf,
  optional,
  text,
  time,
  type Value,
  whole,
  word,
} from '../../../../wire/schema.ts'
import { KINDS } from '../../compile/tree.ts'
import { type Wire, WORKFLOW_STATES } from '../../project/workflow-head.ts'
import { Pagination } from '../paging.ts'
import { JobRequest } from './job-request.ts'

const WorkflowStep = named(
  'WorkflowStep',
  oneOf([JobRequest, component('WorkflowRequest')], 'A job, or another workflow: up to 10 levels.'),
)

const CALLBACK = optional(JobRequest)

export const WorkflowRequest = named(
  'WorkflowRequest',
  object({
    type: word(KINDS, 'chain: one after another. group: all at once. batch: all at once, then callbacks.'),
    name: optional(text()),
    id: optional(text('A name of your own; made by the server otherwise.')),
    steps: optional(list(WorkflowStep, 'Of a chain.')),
    jobs: optional(list(WorkflowStep, 'Of a group or batch.')),
    callbacks: optional(
      object(
        { on_complete: CALLBACK, on_success: CALLBACK, on_failure: CALLBACK },
        'Of a batch: at least one. Each is made exactly once.',
      ),
    ),
    options: optional(anything({ type: 'object' })),
    meta: optional(anything({ type: 'object' })),
  }),
)

const WorkflowError = named(
  'WorkflowError',
  object({
    job_id: optional(nullable(text())),
    code: text(),
    message: text(),
    attempt: whole('On which attempt it failed for good.'),
    callback: optional(text('Of a callback: which.')),
  }),
)

const WorkflowMetadata = named(
  'WorkflowMetadata',
  object({
    created_at: optional(time()),
    started_at: optional(time()),
    completed_at: optional(time()),
    cancelled_at: optional(time()),
    job_count: whole('Jobs in it, those of nested workflows too, callbacks not.'),
    completed_count: whole(),
    failed_count: whole(),
    failed_step_index: optional(whole()),
    failed_job_ids: optional(list(text())),
    errors: optional(list(WorkflowError, 'At most 100.')),
    errors_truncated: optional(flag()),
    callback_errors: optional(list(WorkflowError)),
    initiator: optional(text('Who created it.')),
  }),
)

const WorkflowPlace = named(
  'WorkflowPlace',
  object({
    index: optional(whole('Place in the list; callbacks have none.')),
    id: optional(text('What its author called the step or job, else its place in the list.')),
    name: optional(text("The author's name for it, if it has one.")),
    type: optional(text('Of the job, or of the nested workflow.')),
    state: optional(word(['waiting', 'pending', 'active', 'completed', 'failed', 'cancelled'])),
    job_id: optional(nullable(text('null: not enqueued yet, or a nested workflow.'))),
    job_ids: optional(list(text(), 'Where the jobs of a group or batch are shown as steps.')),
    workflow_id: optional(nullable(text('Of a nested workflow.'))),
    workflow: optional(component('Workflow')),
    result: optional(anything('What it returned.')),
    result_ref: optional(text('Where to read a result that is left out here.')),
    error: optional(WorkflowError),
    started_at: optional(time()),
    completed_at: optional(time()),
    cancelled_at: optional(time()),
  }),
)

const FIELDS = {
  id: optional(text('A planned one has none unless its author chose one.')),
  type: word(KINDS),
  name: optional(nullable(text())),
  state: word(WORKFLOW_STATES),
  steps: optional(list(WorkflowPlace, 'Of a chain.')),
  jobs: optional(list(WorkflowPlace, 'Of a group or batch; of long lists a part.')),
  callbacks: optional(entries(WorkflowPlace)),
  steps_total: optional(whole()),
  steps_completed: optional(whole()),
  jobs_total: optional(whole()),
  jobs_completed: optional(whole()),
  jobs_truncated: optional(flag('Not all jobs are shown.')),
  jobs_next_offset: optional(whole('Send it as `jobs_offset` for the next part.')),
  retry_of: optional(text('The workflow that this one tries again.')),
  root_id: optional(text('Of one that has not begun: the workflow around it.')),
  tenant: optional(text()),
  created_at: optional(time()),
  completed_at: optional(time()),
  metadata: WorkflowMetadata,
}

const Workflow = named('Workflow', object(FIELDS))

export const WorkflowReply = named(
  'WorkflowReply',
  object({ ...FIELDS, workflow: Workflow }, 'The fields of the workflow are at the top as well.'),
)

export const WorkflowList = named(
  'WorkflowList',
  object({
    workflows: list(Workflow),
    items: list(Workflow, 'The same, with the jobs of a group or batch as steps.'),
    pagination: Pagination,
  }),
)

export const WorkflowProgress = named(
  'WorkflowProgress',
  object({
    workflow_id: text(),
    state: word(WORKFLOW_STATES),
    job_count: whole(),
    completed_count: whole(),
    failed_count: whole(),
    progress: { ...anything('From 0 to 1.'), type: 'number' },
    steps: list(
      object({
        id: text(),
        type: text(),
        state: text(),
        job_id: nullable(text()),
        progress: whole('1: it is completed.'),
      }),
    ),
  }),
)

/** What projections write is described here and not typed by it. */
function described<T>(wire: unknown): T {
  return wire as T
}

/** Some clients look for the workflow under its own key, some for its fields at the top. */
export function workflowReply(workflow: Wire): Value<typeof WorkflowReply> {
  return described({ ...asSteps(workflow), workflow })
}

export function workflowLists(workflows: readonly Wire[]): Pick<Value<typeof WorkflowList>, 'workflows' | 'items'> {
  return described({ workflows, items: workflows.map(asSteps) })
}

/** The admin pages know steps only: there the jobs of a group or batch are its steps. */
function asSteps(workflow: Wire): Wire {
  const { metadata, jobs, jobs_total: total, jobs_completed: completed } = workflow
  const { completed_at: ended } = metadata as Wire
  const slim = ({ id, type, state, job_id: job }: Wire): Wire =>
    ({ id, type, state, job_ids: job === null ? [] : [job] }) as Wire
  return {
    ...workflow,
    ...(total === undefined ? {} : { steps_total: total, steps_completed: completed as Json }),
    ...(jobs === undefined ? {} : { steps: (jobs as readonly Wire[]).map(slim) }),
    ...(ended === undefined ? {} : { completed_at: ended }),
  }
}

/** `summary`: with all counts; `whole`: with its steps or jobs. */
export function progressWire(summary: Wire, whole: Wire): Value<typeof WorkflowProgress> {
  const {
    job_count: jobs = 0,
    completed_count: completed = 0,
    failed_count: failed = 0,
  } = summary['metadata'] as {
    readonly [count: string]: number
  }
  const places = (whole['steps'] ?? whole['jobs']) as readonly Wire[]
  return described({
    workflow_id: summary['id'],
    state: summary['state'],
    job_count: jobs,
    completed_count: completed,
    failed_count: failed,
    progress: jobs === 0 ? 0 : Math.min(1, (completed + failed) / jobs),
    steps: places.map(placeProgress),
  })
}

/** What is known of a step without asking its worker: it is completed, or it is not. */
function placeProgress({ id, type, state, job_id: job }: Wire): object {
  return { id, type, state, job_id: job, progress: state === 'completed' ? 1 : 0 }
}
