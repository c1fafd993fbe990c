// @ts-check
/** The command line of bench/run.mjs. */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

export const USAGE = `Usage: npm run bench -- [options]

  --store sqlite|postgres  only this store
  --only NAME,NAME         only these workloads; the beginning of a name is enough: --only chains,group
  --quick                  small counts, two repetitions: seconds instead of minutes, and rough
  --repeat N               repetitions of each workload (5; 2 with --quick)
  --json [FILE]            also write everything as JSON; without FILE to standard output, the tables then to standard error
  --cpu-prof               profile each workload: .cpuprofile files and the functions that took the most time
  --dist FOLDER            measure this build instead of dist
  --against FOLDER         also measure this build, the two by turns, and show the ratio of the medians
  --list                   name the workloads

PETREL_BENCH_POSTGRES_URL  a Postgres to use (databases are created on it); else a throw-away one is started
PETREL_BENCH_NATS_URL      a NATS with JetStream for sagas; else a throw-away one is started
PETREL_BENCH_TMP           where the SQLite files go; it should be on the disk you care about
`

/**
 * @typedef {{
 *   stores: ('sqlite' | 'postgres')[], only: string[] | null, quick: boolean, repeat: number,
 *   json: string | true | null, cpuProf: boolean, dist: string,
 *   against: string | null, list: boolean, help: boolean,
 * }} Options
 */

/** @param {readonly string[]} args @returns {Options} */
export function readOptions(args) {
  const { values } = parseArgs({
    args: args.flatMap((arg, i) => (arg === '--json' && isFlag(args[i + 1]) ? ['--json-out'] : [arg])),
    options: {
      store: { type: 'string' },
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      repeat: { type: 'string' },
      json: { type: 'string' },
      'json-out': { type: 'boolean', default: false },
      'cpu-prof': { type: 'boolean', default: false },
      dist: { type: 'string' },
      against: { type: 'string' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const { store, repeat } = values
  if (store !== undefined && store !== 'sqlite' && store !== 'postgres') {
    throw new TypeError(`--store: sqlite or postgres, not ${store}`)
  }
  const times = repeat === undefined ? (values.quick ? 2 : 5) : Number(repeat)
  if (!Number.isInteger(times) || times < 1)
    throw new TypeError(`--repeat: a whole number of at least 1, not ${repeat}`)
  return {
    stores: store === undefined ? ['sqlite', 'postgres'] : [store],
    only: values.only?.split(',').filter((name) => name !== '') ?? null,
    quick: values.quick,
    repeat: times,
    json: values['json-out'] ? true : (values.json ?? null),
    cpuProf: values['cpu-prof'],
    dist: values.dist === undefined ? fileURLToPath(new URL('../dist', import.meta.url)) : resolve(values.dist),
    against: values.against === undefined ? null : resolve(values.against),
    list: values.list,
    help: values.help,
  }
}

/** @param {string | undefined} arg */
function isFlag(arg) {
  return arg === undefined || arg.startsWith('--')
}
