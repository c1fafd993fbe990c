// @ts-check
/**
 * A separate process for the attempts of escapes-*.ts, so that its memory and its event loop are not shared. Reads `{
 * budgets, groups: [{ names, attempts: [source, …] }] }` from standard input; writes the result of each, and whether
 * anything of the host was touched.
 */
import { readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isDeepStrictEqual } from 'node:util'
import {
  compileExpression,
  compileTemplate,
  ExprError,
  playbookVocabulary,
  render,
  truthy,
} from '../../dist/insides.js'

let stdin = ''
for await (const chunk of process.stdin) stdin += chunk
const { budgets, groups } = JSON.parse(stdin)

/** What executed code would leave behind. @type {unknown[]} */
const ran = []
Object.assign(globalThis, { ran })

/** Keys that were read from an object which has none of them. @type {PropertyKey[]} */
const asked = []
let calls = 0

class Host {
  plain = 1
  get secret() {
    return ++calls
  }
  method() {
    return ++calls
  }
}

const given = {
  text: 'text',
  key: 'constructor',
  data: { a: 1 },
  list: [3, 1, 2],
  own: JSON.parse('{"__proto__": 1, "constructor": 2, "toString": 3}'),
  nested_template: '{{ 7 * 7 }}{% set x = 1 %}',
}
const known = structuredClone(given)
const host = new Host()
const watched = new Proxy(
  { a: 1 },
  {
    get(target, key, self) {
      if (!Object.hasOwn(target, key)) asked.push(key)
      return Reflect.get(target, key, self)
    },
  },
)

const large = {
  big: 'x'.repeat(5_000_000),
  big2: Array(5_000_000).fill('x').join(''),
  emoji: '😀'.repeat(2_000_000),
  rows: Array.from({ length: 100_000 }, (_none, id) => ({ id })),
  rows2: Array.from({ length: 100_000 }, (_none, id) => ({ id })),
  keys1: numbered(100_000, 0),
  keys2: numbered(100_000, 1),
  deep: nested(100_000),
  deep2: nested(100_000),
}

/** @param {number} count @param {number} first */
function numbered(count, first) {
  return Object.fromEntries(Array.from({ length: count }, (_none, at) => [`k${at}`, at + first]))
}

/** @param {number} depth @returns {unknown[]} */
function nested(depth) {
  /** @type {unknown[]} */
  let value = []
  for (let level = 0; level < depth; level++) value = [value]
  return value
}

const answer = { status_code: 200, headers: {}, body: { rows: [1] } }
/** What a net provides about a playbook's step in a loop. */
const facts = {
  input: { a: 1 },
  ctx: { a: 1 },
  args: { a: 1 },
  results: { fetch: answer },
  fetch: answer,
  event: { node: 'fetch', kind: 'run', status: 'succeeded', ok: true, error: null, result: answer },
  $place: { instance: 'i', index: 0, total: 1, as: 'x' },
  item: 1,
}
const factsBefore = structuredClone(facts)

/** @param {string} names @returns {any} */
function scopeOf(names) {
  return names === 'playbook' ? playbookVocabulary.scope(facts) : { ...given, ...large, host, watched }
}

const PROTOTYPES = [Object, Array, String, Number, Boolean, Function, Map, Set, RegExp, Error, Promise].map(
  (type) => type.prototype,
)
/** The observable state of the host. */
const surface = () =>
  JSON.stringify([
    [globalThis, ...PROTOTYPES].map((object) => Reflect.ownKeys(object).map(String)),
    process.env,
    process.exitCode ?? null,
    process.cwd(),
    process.eventNames().map(String),
  ])

/** @param {() => unknown} act */
function outcome(act) {
  try {
    return JSON.stringify(act() ?? null) ?? 'not JSON'
  } catch (error) {
    return error instanceof ExprError ? error.code : `threw ${error}`
  }
}

/** A template, and where it is one expression a condition too. @param {string} source */
function doorsOf(source) {
  const isExpression = /^\{\{.*\}\}$/s.test(source) && source.lastIndexOf('{{') === 0
  return isExpression ? DOORS : DOORS.slice(0, 1)
}

/** @type {readonly ((source: string, scope: any, budget: object) => unknown)[]} */
const DOORS = [
  (source, scope, budget) => render(compileTemplate(source), scope, budget),
  (source, scope, budget) => truthy(compileExpression(source), scope, budget),
]

const peak = () => process.resourceUsage().maxRSS / 1024
/** Memory still held, in megabytes. */
function held() {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / 1024 / 1024
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

async function tryAll() {
  const tried = []
  for (const { names, attempts } of groups) {
    for (const source of attempts) {
      for (const [budget, limits] of budgets.entries()) {
        for (const [door, enter] of doorsOf(source).entries()) {
          const scope = scopeOf(names)
          const [cpu, highest] = [process.cpuUsage(), peak()]
          const ends = outcome(() => enter(source, scope, limits))
          const { user, system } = process.cpuUsage(cpu)
          tried.push({ names, source, budget, door, ends, cpuMs: (user + system) / 1000, grownMb: peak() - highest })
          await turn()
        }
      }
    }
  }
  return tried
}

// Once before anything is measured: the code is compiled and the heap has grown.
for (const source of ['{{ 1 + 1 }}', '.{{ keys1 | list | length }}']) {
  render(compileTemplate(source), scopeOf('net'), budgets.at(-1))
}
/** Every module of the platform that was ever loaded. @type {string[]} */
const loaded = /** @type {any} */ (process).moduleLoadList
const before = { surface: surface(), loaded: loaded.length, peak: peak(), held: held() }
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
const tried = await tryAll()
delay.disable()

process.stdout.write(
  JSON.stringify({
    tried,
    delayMs: delay.max / 1e6,
    grownMb: peak() - before.peak,
    keptMb: held() - before.held,
    touched: {
      ran,
      asked: asked.map(String),
      calls,
      changed: surface() !== before.surface,
      loaded: loaded.slice(before.loaded),
      files: readdirSync('.'),
      resources: process.getActiveResourcesInfo().filter((name) => /Process|TCP|UDP|FS|Getaddr|Worker/.test(name)),
      given: isDeepStrictEqual(given, known) && isDeepStrictEqual(facts, factsBefore),
    },
  }),
)
