import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Their tests wait for other processes: for a server to be ready, or for the session of a killed process to expire. */
const WAITING =
  /\/test\/(?:cli|clients|crash|docs|nats|pipeline|race|inbox\/crash)\/|\/transactional-insert\.test\.ts$|\/pollers\.test\.ts$/
/** In this part of the list; the files are sorted by size, and those at its end take almost no time. */
const SHARE = 0.5

/**
 * Mixes files that wait with files that compute: if all workers wait, the processors are idle, and the other way round.
 */
export class Mixed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const waiting = sorted.filter(({ moduleId }) => WAITING.test(moduleId))
    const mixed = sorted.filter(({ moduleId }) => !WAITING.test(moduleId))
    for (const [i, file] of waiting.entries())
      mixed.splice(Math.floor((i * files.length * SHARE) / waiting.length), 0, file)
    return mixed
  }
}
