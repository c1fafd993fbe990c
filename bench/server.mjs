// @ts-check
/**
 * The Postgres to measure: the one named, or a throw-away one with default settings (fsync and synchronous_commit on).
 */
import { startServices } from '../scripts/services.mjs'

/** @returns {Promise<{ url: string, stop(): Promise<void> } | null>} null: none is installed */
export async function postgresServer() {
  const named = process.env['PETREL_BENCH_POSTGRES_URL']
  if (named) return { url: named, stop: async () => {} }
  const services = await startServices()
  if (services.postgresUrl === null) {
    await services.stop()
    return null
  }
  return { url: services.postgresUrl, stop: services.stop }
}
