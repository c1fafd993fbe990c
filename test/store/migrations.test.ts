/** The files of migrations: a number names one of them, and none is left out. */
import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'

it.each(['postgres', 'sqlite'])('migrations of %s are numbered one after the other', (store) => {
  const files = readdirSync(new URL(`../../src/store/${store}/migrations/`, import.meta.url)).sort()
  expect(files.map((file) => Number(file.slice(0, 4)))).toEqual(files.map((_, i) => i + 1))
})
