/** The table of commands. A new one is a file in commands/ and a line here. */

import { defineAudit } from './commands/admin/audit.ts'
import { defineBench } from './commands/admin/bench.ts'
import { defineDev } from './commands/admin/dev.ts'
import { defineDoctor } from './commands/admin/doctor.ts'
import { defineGrants } from './commands/admin/grants.ts'
import { defineKeys } from './commands/admin/keys.ts'
import { defineMigrate } from './commands/admin/migrate.ts'
import { defineServer } from './commands/admin/server.ts'
import { defineWorker } from './commands/admin/worker.ts'
import { defineWorkers } from './commands/admin/workers.ts'
import { defineApprove, defineReject } from './commands/answer.ts'
import { defineBulk } from './commands/bulk/bulk.ts'
import { defineCancel } from './commands/cancel.ts'
import { defineContext } from './commands/context.ts'
import { defineCheck } from './commands/definitions/check.ts'
import { defineDebounced } from './commands/definitions/debounced.ts'
import { defineDefinitions } from './commands/definitions/definitions.ts'
import { defineDeploy } from './commands/definitions/deploy.ts'
import { defineRegistry } from './commands/definitions/registry.ts'
import { defineSchedules } from './commands/definitions/schedules.ts'
import { defineErrors } from './commands/errors.ts'
import { defineEvent } from './commands/event.ts'
import { defineGates, defineLink } from './commands/gates.ts'
import { defineLogs } from './commands/logs.ts'
import { defineLs } from './commands/ls.ts'
import { definePause, definePauses, defineResume } from './commands/pause.ts'
import { defineDead, defineQueues, defineRedrive } from './commands/queues.ts'
import { defineFork, defineRetry, defineRetryNow } from './commands/retry.ts'
import { defineRun } from './commands/run.ts'
import { defineRuns } from './commands/runs.ts'
import { defineSaga } from './commands/saga.ts'
import { defineShow } from './commands/show.ts'
import { defineStart } from './commands/start.ts'
import { defineSubmit } from './commands/submit.ts'
import { defineTimeline } from './commands/timeline.ts'
import { defineWatch } from './commands/watch.ts'
import { defineWhy } from './commands/why.ts'
import type { DefineCommand } from './terminal/act.ts'

export interface CommandGroup {
  readonly title: string
  readonly commands: readonly DefineCommand[]
}

export const COMMANDS: readonly CommandGroup[] = [
  { title: 'Run:', commands: [defineDev, defineServer, defineWorker, defineRun, defineCheck] },
  { title: 'Definitions:', commands: [defineDeploy, defineDefinitions, defineStart, defineDebounced, defineEvent] },
  {
    title: 'Instances:',
    commands: [
      defineLs,
      defineShow,
      defineTimeline,
      defineLogs,
      defineWhy,
      defineWatch,
      defineCancel,
      definePause,
      defineResume,
      defineRetry,
      defineFork,
      defineRetryNow,
      defineContext,
      defineSaga,
    ],
  },
  { title: 'Gates:', commands: [defineGates, defineApprove, defineReject, defineLink] },
  { title: 'Inbox:', commands: [defineSubmit, defineRuns, defineRegistry, defineSchedules, defineGrants] },
  {
    title: 'Operate:',
    commands: [
      defineBulk,
      defineErrors,
      defineQueues,
      defineWorkers,
      definePauses,
      defineDead,
      defineRedrive,
      defineAudit,
      defineKeys,
      defineMigrate,
      defineDoctor,
      defineBench,
    ],
  },
]
