import { describe, expect, it } from 'vitest'
import { eventCells, instanceCells, runCells } from '../../src/store/cells.ts'
import { EVENT, INSTANCE, RUN } from '../../src/store/postgres/columns.ts'
import { INSTANCE_COLUMNS } from '../../src/store/sqlite/row/instance.ts'
import { RUN_COLUMNS } from '../../src/store/sqlite/row/run.ts'

/** Each of its fields holds its own name. */
const named = new Proxy({}, { get: (_, key) => key }) as never

describe('a row taken apart', () => {
  it.each([
    ['run', RUN, runCells],
    ['instance', INSTANCE, instanceCells],
    ['event', EVENT, eventCells],
  ])('has its values in the order of its columns: %s', (_, { columns }, cells) => {
    expect(cells(named)).toEqual(columns.map(({ key }) => key))
  })

  it('has them in the same order in both stores', () => {
    expect(RUN_COLUMNS.map(({ name }) => name)).toEqual(RUN.columns.map(({ name }) => name))
    expect(INSTANCE_COLUMNS.map(({ name }) => name)).toEqual(INSTANCE.columns.map(({ name }) => name))
  })
})
