import { defineConfig } from 'vitest/config'
import { Mixed } from './test/sequence.ts'

const full = process.env['PETREL_TEST_FULL'] === '1'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    // Processes, since native handles of SQLite and DuckDB want one of their own. Each runs many files: to begin anew and to load
    // the engine once more for each of them took an eighth of the whole time.
    pool: 'forks',
    isolate: false,
    maxWorkers: 3,
    sequence: { sequencer: Mixed },
    testTimeout: full ? 600_000 : 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    reporters: ['default'],
  },
})
