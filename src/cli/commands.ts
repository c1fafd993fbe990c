/** The table of commands. A new one is a file in commands/ and a line here. */
import type { DefineCommand } from './act.ts'
import { defineApprove, defineReject } from './commands/answer.ts'
import { defineBench } from './commands/bench.ts'
import { defineCancel } from './commands/cancel.ts'
import { defineCheck } from './commands/check.ts'
import { defineContext } from './commands/context.ts'
import { defineDefinitions } from './commands/definitions.ts'
import { defineDeploy } from './commands/deploy.ts'
import { defineDev } from './commands/dev.ts'
import { defineDoctor } from './commands/doctor.ts'
import { defineEvent } from './commands/event.ts'
import { defineGates, defineLink } from './commands/gates.ts'
import { defineGrants } from './commands/grants.ts'
import { defineKeys } from './commands/keys.ts'
import { defineLs } from './commands/ls.ts'
import { defineMigrate } from './commands/migrate.ts'
import { defineDead, defineQueues, defineRedrive } from './commands/queues.ts'
import { defineRegistry } from './commands/registry.ts'
import { defineRetry } from './commands/retry.ts'
import { defineRun } from './commands/run.ts'
import { defineRuns } from './commands/runs.ts'
import { defineSaga } from './commands/saga.ts'
import { defineSchedules } from './commands/schedules.ts'
import { defineServer } from './commands/server.ts'
import { defineShow } from './commands/show.ts'
import { defineStart } from './commands/start.ts'
import { defineSubmit } from './commands/submit.ts'
import { defineWatch } from './commands/watch.ts'
import { defineWhy } from './commands/why.ts'
import { defineWorker } from './commands/worker.ts'

export interface CommandGroup {
  readonly title: string
  readonly commands: readonly DefineCommand[]
}

export const COMMANDS: readonly CommandGroup[] = [
  { title: 'Run:', commands: [defineDev, defineServer, defineWorker, defineRun, defineCheck] },
  { title: 'Definitions:', commands: [defineDeploy, defineDefinitions, defineStart, defineEvent] },
  {
    title: 'Instances:',
    commands: [defineLs, defineShow, defineWhy, defineWatch, defineCancel, defineRetry, defineContext, defineSaga],
  },
  { title: 'Gates:', commands: [defineGates, defineApprove, defineReject, defineLink] },
  { title: 'Inbox:', commands: [defineSubmit, defineRuns, defineRegistry, defineSchedules, defineGrants] },
  {
    title: 'Operate:',
    commands: [defineQueues, defineDead, defineRedrive, defineKeys, defineMigrate, defineDoctor, defineBench],
  },
]
