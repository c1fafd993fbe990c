// @ts-check
/** Another program, which locks an SQLite file for a while on request. */
import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const settings = JSON.parse(/** @type {string} */ (process.argv[2]))
const { openDatabase } = await import(pathToFileURL(`${settings.dist}/insides.js`).href)
const database = await openDatabase(settings.url.slice('sqlite:'.length))
database.exec('PRAGMA busy_timeout = 5000')
writeSync(1, '{"ready":true}\n')
await once(process.stdin, 'data')
database.exec('BEGIN EXCLUSIVE')
writeSync(1, '{"locked":true}\n')
await new Promise((resolve) => setTimeout(resolve, settings.holdMs))
database.exec('COMMIT')
database.close()
writeSync(1, '{"unlocked":true}\n')
process.exit(0)
