// @ts-check
/**
 * A process that counts failures into their groups, three at a time, and is killed the k-th time it passes a named point:
 * { dist, url, at: { point, time } }.
 */
import { pathToFileURL } from 'node:url'

const settings = JSON.parse(/** @type {string} */ (process.argv[2]))
const { openStore } = await import(pathToFileURL(`${settings.dist}/insides.js`).href)

let counting = false
let passed = 0
const probe = (/** @type {string} */ point) => {
  if (counting && point === settings.at.point && ++passed === settings.at.time) process.kill(process.pid, 'SIGKILL')
}
const { errorGroups } = await openStore(settings.url, { probe })
counting = true
while ((await errorGroups.count({ limit: 3, wait: true })) > 0);
process.exit(0)
