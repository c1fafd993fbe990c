// @ts-check
/**
 * A worker to be killed. Its only tool reports the key of the call and replies, or, if configured, never does.
 *
 *   { dist, url, hangs: 'task#attempt' | null } → { ready }, { run, tried: 'task#attempt' }…; of a second visit
 *   'task:2#attempt'
 */
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const { dist, url, hangs } = JSON.parse(/** @type {string} */ (process.argv[2]))
const { Engine, Handlers, makeStepHandler, openStore, STEP_TYPE, Tools, VOCABULARIES, Worker } = await import(
  pathToFileURL(`${dist}/insides.js`).href
)

const say = (/** @type {object} */ line) => void writeSync(1, `${JSON.stringify(line)}\n`)

const tool = {
  kind: 'fake',
  check: () => [],
  run: async (/** @type {any} */ { key, context, config }) => {
    const [run, ...visit] = key.split(':')
    const tried = `${visit.join(':')}#${context.attempt}`
    say({ run, tried })
    if (tried === hangs) await new Promise(() => {})
    const failed = { kind: 'rate_limit', retryable: true, code: null, message: 'not now' }
    if (tried === config.fails) return { status: 'error', result: null, error: failed }
    return { status: 'ok', result: config.gives ?? null, error: null }
  },
}

const store = await openStore(url)
const engine = await Engine.open({
  store,
  vocabularies: VOCABULARIES,
  pollMs: 50,
  sessionTtlMs: 1_000,
  heartbeatMs: 200,
})
const handlers = new Handlers()
handlers.add(STEP_TYPE, makeStepHandler({ tools: new Tools().add(tool), longRestMs: 500 }))
await Worker.start(engine.workers, { handlers, pollMs: 50, prefetchMs: 0 })
say({ ready: true })
