import { startServices } from '../scripts/services.mjs'
import { Databases } from './databases.ts'

/** Gives a vitest run without `npm test` around it (npx vitest, an editor) the same throw-away Postgres and NATS. */
export default async function setup(): Promise<() => Promise<void>> {
  const services = await startServices()
  if (services.postgresUrl !== null) process.env['PETREL_TEST_POSTGRES_URL'] = services.postgresUrl
  if (services.natsUrl !== null) process.env['PETREL_TEST_NATS_URL'] = services.natsUrl
  for (const { name, reason } of services.missing) {
    console.warn(`The tests that need ${name} are skipped: ${reason}.`)
  }
  return async () => {
    if (services.postgresUrl !== null) await clear(services.postgresUrl)
    await services.stop()
  }
}

/** The server may be the user's own: everything of these tests is removed. */
async function clear(server: string): Promise<void> {
  const databases = new Databases(server)
  await databases.clear()
  await databases.close()
}
