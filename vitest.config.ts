import { defineConfig } from 'vitest/config'
import { Mixed } from './test/sequence.ts'

const full = process.env['PETREL_TEST_FULL'] === '1'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'dashboard/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    // Processes, since native handles of SQLite and DuckDB need one of their own. Each runs many files: starting a
    // process and loading the engine for every file took an eighth of the total time.
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
