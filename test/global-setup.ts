import { startServices } from '../scripts/services.mjs'

/** Gives a vitest run without `npm test` around it (npx vitest, an editor) the same throw-away Postgres and NATS. */
export default async function setup(): Promise<() => Promise<void>> {
  const services = await startServices()
  if (services.postgresUrl !== null) process.env['PETREL_TEST_POSTGRES_URL'] = services.postgresUrl
  if (services.natsUrl !== null) process.env['PETREL_TEST_NATS_URL'] = services.natsUrl
  for (const { name, reason } of services.missing) {
    console.warn(`The tests that need ${name} are skipped: ${reason}.`)
  }
  return services.stop
}
