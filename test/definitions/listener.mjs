// @ts-check
/**
 * A process that handles an event and is killed the k-th time it passes a named point: { dist, url, event, at: { point,
 * time } }.
 */
import { pathToFileURL } from 'node:url'

const settings = JSON.parse(/** @type {string} */ (process.argv[2]))
const { Engine, Events, openStore, VOCABULARIES } = await import(pathToFileURL(`${settings.dist}/insides.js`).href)

let passed = 0
const probe = (/** @type {string} */ point) => {
  if (point === settings.at.point && ++passed === settings.at.time) process.kill(process.pid, 'SIGKILL')
}
const engine = await Engine.open({
  store: await openStore(settings.url),
  sweep: false,
  probe,
  vocabularies: VOCABULARIES,
})
await new Events({ engine, logger: null }).publish(settings.event)
console.log(JSON.stringify({ survived: true }))
process.exit(0)
