/**
 * A real `petrel server` and a real `petrel worker --tools` on one store are killed with SIGKILL repeatedly, while
 * clients start playbooks over HTTP, approve and wait. A killed process is started again. Every execution ends once, as
 * its playbook requires; every token ends once; an effect of a tool under the key of its run happens once.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { type Running, shell } from '../cli/petrel.ts'
import { postgresUrl } from '../services.ts'
import { audit, type Roles } from './audit.ts'
import { type StoreKind, TestDatabase } from './database.ts'
import { Clients } from './playbook-clients.ts'
import { Ledger } from './playbook-ledger.ts'
import { wrongExecutions, wrongRows } from './playbook-verdict.ts'
import { EXPECTED } from './playbook-workloads.ts'
import { built } from './process.ts'

const full = process.env['PETREL_TEST_FULL'] === '1'
const ROUNDS = full ? 50 : 2
const TRAPPED = full ? 50 : 2
const timeout = full ? 1_800_000 : 120_000
const trap = new URL('trap.mjs', import.meta.url).href

/**
 * A dead process is detected soon, but in long runs late enough that a busy machine is not often taken for a dead one.
 */
const ENGINE = { sessionTtlMs: full ? 2_000 : 1_000, heartbeatMs: 150, pollMs: 100 }
const ROLES: Roles = Object.fromEntries(
  Object.entries(EXPECTED).map(([name, { final }]) => [name, { final: final === undefined ? [] : [final], undo: [] }]),
)

type Role = 'server' | 'worker'

/** Which process decides what, and the last occurrence at which it may be killed. */
const TRAPS = [
  { role: 'worker', what: 'a rest', times: 1 },
  { role: 'server', what: 'a patch', times: 2 },
  { role: 'worker', what: 'the finals', times: 5 },
  { role: 'worker', what: 'an end', times: 10 },
] as const
const POINTS = ['before', 'during', 'after'] as const

export function playbookCrashSuite(kind: StoreKind): void {
  describe.skipIf(kind === 'postgres' && postgresUrl() === null)(
    `playbooks whose processes are killed with SIGKILL (${kind})`,
    () => {
      const sh = shell()
      let stage: Stage | null = null

      afterEach(async () => {
        await stage?.close()
        stage = null
      }, 60_000)

      it(`at any instant: ${ROUNDS} rounds`, { timeout }, async () => {
        stage = await Stage.open(kind, sh)
        const victims: readonly (readonly Role[])[] = [['worker'], ['server'], ['worker', 'server']]
        for (let round = 1; round <= ROUNDS; round++) {
          const wave = stage.clients.wave(`r${round}`, { slow: round < ROUNDS })
          // Occasionally a second time while it recovers. Not more often, since attempts are limited.
          for (let kills = Math.random() < 0.25 ? 2 : 1; kills > 0; kills--) {
            await sleep(Math.random() * 700)
            await stage.kill(victims[round % victims.length]!)
          }
          await wave
        }
        await stage.verify('at any instant')
      })

      it(`at the decision about an end, a final step, an approval or a rest: ${TRAPPED} rounds`, {
        timeout,
      }, async () => {
        stage = await Stage.open(kind, sh)
        for (let round = 1; round <= TRAPPED; round++) {
          const { role, what, times } = TRAPS[(round - 1) % TRAPS.length]!
          const point = POINTS[Math.floor(Math.random() * POINTS.length)]
          await stage.replace(role, { what, point, at: 1 + Math.floor(Math.random() * times) })
          let lives = true
          const dead = stage.dead(role).then(() => (lives = false))
          for (let wave = 1; lives; wave++) await stage.clients.wave(`r${round}.${wave}`, { slow: what === 'a rest' })
          await dead
        }
        await stage.verify('where it is decided')
      })
    },
  )
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Server, worker, clients and the external service. */
class Stage {
  readonly clients: Clients
  readonly #sh: ReturnType<typeof shell>
  readonly #database: TestDatabase
  readonly #ledger: Ledger
  readonly #dist: string
  readonly #running = new Map<Role, Running>()
  readonly #began = performance.now()
  #kills = 0

  private constructor(p: { sh: ReturnType<typeof shell>; database: TestDatabase; ledger: Ledger; dist: string }) {
    this.#sh = p.sh
    this.#database = p.database
    this.#ledger = p.ledger
    this.#dist = p.dist
    this.clients = new Clients(p.ledger)
  }

  static async open(kind: StoreKind, sh: ReturnType<typeof shell>): Promise<Stage> {
    const stage = new Stage({
      sh,
      dist: built(),
      database: await TestDatabase.create(kind),
      ledger: await Ledger.open(),
    })
    await Promise.all([stage.#start('server'), stage.#start('worker')])
    await stage.clients.deploy()
    return stage
  }

  async close(): Promise<void> {
    for (const { child, ended } of this.#running.values()) {
      child.kill('SIGKILL')
      await ended
    }
    await this.#ledger.close()
    await this.#database.drop()
  }

  /** Kills them at once, and starts them again. */
  async kill(roles: readonly Role[]): Promise<void> {
    for (const role of roles) this.#running.get(role)!.child.kill('SIGKILL')
    await Promise.all(roles.map((role) => this.dead(role)))
  }

  /** Waits until it has died, and starts another one. */
  async dead(role: Role): Promise<void> {
    const { child, ended } = this.#running.get(role)!
    await ended
    expect(child.signalCode).toBe('SIGKILL')
    this.#kills++
    await this.#start(role)
  }

  /** The id of a process that will kill itself. */
  async replace(role: Role, armed: object): Promise<void> {
    await this.#leave(role)
    await this.#start(role, armed)
  }

  async #leave(role: Role): Promise<void> {
    const { child, ended } = this.#running.get(role)!
    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
  }

  async #start(role: Role, armed: object = {}): Promise<void> {
    const settings = { dist: this.#dist, engine: ENGINE, ...armed }
    this.#sh.env = { NODE_OPTIONS: `--import ${trap}`, PETREL_TRAP: JSON.stringify(settings) }
    const own =
      role === 'server'
        ? ['server', '--port', '0', '--rate-limit', '0']
        : ['worker', '--tools', '--http-allow', '127.0.0.1', '--concurrency', '8']
    const running = this.#sh.start(...own, '--json', '--store', this.#database.url)
    this.#running.set(role, running)
    const [, url] = await running.until(role === 'server' ? /"url":"([^"]+)"/ : /"event":"(ready)"/)
    if (role === 'server') this.clients.url = url as string
  }

  /** Everything ends, the remaining processes stop cleanly, and all checks must hold. */
  async verify(what: string): Promise<void> {
    const { clients } = this
    await clients.finish()
    expect(await wrongExecutions(clients, this.#ledger)).toEqual([])
    for (const role of this.#running.keys()) await this.#leave(role)
    expect(await wrongRows(this.#database, clients, this.#ledger)).toEqual([])
    const { violations, counts } = await audit(this.#database, { effects: false, roles: ROLES })
    const seconds = ((performance.now() - this.#began) / 1000).toFixed(1)
    console.log(
      `${this.#database.kind}, ${what}: ${this.#kills} kills, ${clients.started.length} executions in ${seconds} s`,
      JSON.stringify({ ...counts, effects: this.#ledger.effects.size, calls: this.#ledger.calls }),
    )
    expect(violations).toEqual([])
  }
}
