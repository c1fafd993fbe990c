/** A fresh database and a client of it with only the rights that `petrel grants` gives. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { StoredEvent } from '../../../src/model/rows.ts'
import { grantsFor } from '../../../src/store/postgres/grants.ts'
import { type PostgresSubject, postgresSubject } from '../../store/postgres-subject.ts'
import { goClient, type InboxClient, pythonClient } from './clients.ts'

type Row = Readonly<Record<string, any>>

export interface InboxStage extends Pick<PostgresSubject, 'store' | 'open' | 'untilWaiting'> {
  readonly role: string
  /** The database as the role connects to it. */
  readonly url: string
  /** The same as its owner. */
  readonly ownerUrl: string
  /** A session of the role, with its settings. */
  connect(): Promise<pg.Client>
  /** Plain SQL as the role. */
  sql(text: string, values?: readonly unknown[]): Promise<pg.QueryResult<Row>>
  /** Plain SQL as the owner of the tables. */
  admin(text: string, values?: readonly unknown[]): Promise<pg.QueryResult<Row>>
  client(language: InboxClient['name']): Promise<InboxClient>
  run(id: string): Promise<Row>
  /** Types of the stored events of a run, in order. */
  recorded(id: string): Promise<readonly string[]>
  /** Events of a run as the view shows them, through the store. */
  history(id: string): Promise<readonly StoredEvent[]>
  /** Payloads on the notification channel from now on. */
  listen(): Promise<readonly string[]>
  close(): Promise<void>
}

export async function inboxStage(): Promise<InboxStage> {
  const subject = await postgresSubject()
  const role = `inbox ${randomBytes(6).toString('hex')}`
  const password = randomBytes(9).toString('hex')
  // A server in another place: its time zone must not matter.
  const [{ name }] = (await subject.foreign.query('SELECT current_database() AS name')).rows
  await subject.foreign.query(`ALTER DATABASE ${name} SET timezone = 'America/New_York'`)
  await subject.foreign.query(`CREATE ROLE "${role}" LOGIN PASSWORD '${password}'; ${grantsFor(role)}`)
  const url = new URL(subject.url)
  url.username = encodeURIComponent(role)
  url.password = password
  const sessions: pg.Client[] = []
  const clients: InboxClient[] = []
  const connect = async (): Promise<pg.Client> => {
    const session = new pg.Client({ connectionString: url.href })
    session.on('error', () => {})
    await session.connect()
    sessions.push(session)
    return session
  }
  const session = await connect()
  return {
    store: subject.store,
    open: subject.open,
    untilWaiting: subject.untilWaiting,
    role,
    url: url.href,
    ownerUrl: subject.url,
    connect,
    sql: (text, values = []) => session.query(text, values as unknown[]),
    admin: (text, values = []) => subject.foreign.query(text, values as unknown[]),
    async client(language) {
      const made = language === 'Go' ? await goClient(url.href) : pythonClient(url.href)
      clients.push(made)
      return made
    },
    async run(id) {
      return (await session.query('SELECT * FROM workflow_run WHERE id = $1', [id])).rows[0]
    },
    async recorded(id) {
      const found = await session.query(
        'SELECT event_type FROM workflow_event WHERE workflow_id = $1 ORDER BY created_at, id',
        [id],
      )
      return found.rows.map((row) => row.event_type)
    },
    history: (id) => subject.store.read.runHistory(id),
    async listen() {
      const heard: string[] = []
      const listener = await connect()
      listener.on('notification', ({ payload }) => heard.push(payload ?? ''))
      await listener.query('LISTEN workflow_wake')
      return heard
    },
    async close() {
      await Promise.all([...clients.map((each) => each.close()), ...sessions.map((each) => each.end())])
      await subject.foreign.query(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`)
      await subject.close()
    },
  }
}
