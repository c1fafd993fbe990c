import { defineConfig } from 'vitest/config'

const full = process.env['PETREL_TEST_FULL'] === '1'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    // Separate processes: a native SQLite handle or a stray timer of one file cannot reach another.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: full ? 600_000 : 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    reporters: ['default'],
  },
})
