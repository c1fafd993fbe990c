// @ts-check
// A saga whose commands are built by functions, with its services, all in one process. NATS is needed:
//
//   node examples/sagas/embedded.mjs [store] [nats url]
import { connect } from '@nats-io/transport-node'
import { DatabaseSync } from '@photostructure/sqlite'
import { Petrel, saga } from 'petrel'
import { openSagaTransport, sqliteKeys, stepConsumer } from 'petrel/nats'

const [store = 'sqlite::memory:', url = 'nats://127.0.0.1:4222', prefix = 'embedded'] = process.argv.slice(2)

const provision = saga({
  name: 'provision',
  version: '2',
  steps: [
    {
      name: 'save_party',
      subject: 'refdata.v1.parties.save',
      compensationSubject: 'refdata.v1.parties.delete',
      buildCommand: (request) => ({ name: request.party }),
      buildCompensation: (command, result) => ({ party_id: result.party_id, name: command.name }),
    },
    {
      name: 'save_account',
      subject: 'iam.v1.accounts.save',
      buildCommand: (request, results) => ({ email: request.email, party_id: results.save_party.party_id }),
    },
  ],
})

// The services. Each stores the step id with its effect, in one transaction.
const nc = await connect({ servers: url })
const services = stepConsumer(nc, {
  prefix,
  keys: sqliteKeys({ database: new DatabaseSync(':memory:') }),
  handlers: {
    'refdata.v1.parties.save': ({ body }) => ({ party_id: `p_${body.name}` }),
    'refdata.v1.parties.delete': ({ body }) => console.log(`party ${body.name} is gone again`),
    'iam.v1.accounts.save': ({ body }) => {
      if (!body.email.includes('@')) throw new Error(`'${body.email}' is no email address`)
      return { account_id: `a_${body.email}` }
    },
  },
})

// The engine: builds commands, relays them, continues with the replies.
const petrel = await Petrel.open(store)
await petrel.saga(provision)
await petrel.work()
const transport = await openSagaTransport({ petrel, url, prefix })
await transport.ready

for (const email of ['ann@example.org', 'nobody']) {
  const started = await petrel.startSaga('provision', { party: 'ACME', email })
  const results = await started.result().catch((error) => error.message)
  console.log(await started.status(), JSON.stringify(results))
}

await transport.close()
await services.stop()
await nc.close()
await petrel.close()
