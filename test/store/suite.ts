/** The guarantees of the Store interface, by topic. Every store must pass all of it. */
import { afterEach, beforeEach, describe } from 'vitest'
import { claimTopic } from './claims.ts'
import { commandTopic } from './commands.ts'
import { definitionTopic } from './definitions.ts'
import { doctorTopic } from './doctor.ts'
import { dueTopic } from './due.ts'
import { errorTopic } from './errors.ts'
import { eventTypeTopic } from './event-types.ts'
import { historyTopic } from './history.ts'
import { inboxTopic } from './inbox.ts'
import { keyTopic } from './keys.ts'
import { leaseTopic } from './leases.ts'
import { listTopic } from './lists.ts'
import { loadTopic } from './loads.ts'
import { ownLeaseTopic } from './own-leases.ts'
import { processTopic } from './processes.ts'
import { readTopic } from './reads.ts'
import { registryTopic } from './registry.ts'
import { resultTopic } from './results.ts'
import { retentionTopic } from './retention.ts'
import { roundTripTopic } from './round-trips.ts'
import { sagaTopic } from './sagas.ts'
import { schemaTopic } from './schema.ts'
import { searchTopic } from './search.ts'
import { slotTopic } from './slots.ts'
import type { OpenSubject, Subject } from './subject.ts'
import { transactTopic } from './transact.ts'
import { treeTopic } from './trees.ts'

/** Returns the subject of the running test. */
export type Current = () => Subject

const TOPICS: Readonly<Record<string, (current: Current) => void>> = {
  transact: transactTopic,
  'round trips': roundTripTopic,
  keys: keyTopic,
  claims: claimTopic,
  'the registry': registryTopic,
  definitions: definitionTopic,
  commands: commandTopic,
  sagas: sagaTopic,
  loads: loadTopic,
  results: resultTopic,
  history: historyTopic,
  'types of events': eventTypeTopic,
  'sessions and leases': leaseTopic,
  'leases of their own': ownLeaseTopic,
  'due work': dueTopic,
  'execution slots': slotTopic,
  'read models': readTopic,
  'trees of instances': treeTopic,
  'lists and statistics': listTopic,
  'lists of the inbox': inboxTopic,
  searches: searchTopic,
  'groups of failures': errorTopic,
  retention: retentionTopic,
  doctor: doctorTopic,
  'several processes': processTopic,
  schema: schemaTopic,
}

export function storeSuite(name: string, open: OpenSubject): void {
  for (const [title, topic] of Object.entries(TOPICS)) {
    describe(`${name}: ${title}`, () => {
      let subject: Subject
      beforeEach(async () => {
        subject = await open()
      })
      afterEach(() => subject.close())
      topic(() => subject)
    })
  }
}
