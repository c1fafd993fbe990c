/** Writes that do not wait for the disk, and later ones that do. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Connection } from '../../src/store/sqlite/connection.ts'

const FULL = 2
const NORMAL = 1

let folder: string
let connection: Connection

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'petrel-unsynced-'))
  connection = await Connection.open(join(folder, 'a.db'), null)
  await connection.prepareForWriting()
  connection.exec('CREATE TABLE t (n INTEGER)')
})
afterEach(async () => {
  await connection.close()
  rmSync(folder, { recursive: true, force: true })
})

const insert = (): number => {
  connection.statement('INSERT INTO t VALUES (1)').get()
  return synchronous()
}
const synchronous = (): number => Number(connection.statement('PRAGMA synchronous').get()?.[0])
const count = () => connection.read(() => connection.statement('SELECT count(*) FROM t').get()?.[0])

it('only the write that requests it does not wait', async () => {
  expect(await connection.writeUnsynced(insert, () => {})).toBe(NORMAL)
  expect(await connection.write(insert)).toBe(FULL)
  expect(await count()).toBe(2)
})

it('one that fails is rolled back, and leaves nothing for the next', async () => {
  const failing = () => {
    insert()
    throw new Error('no')
  }
  await expect(connection.writeUnsynced(failing, () => {})).rejects.toThrow('no')
  expect(synchronous()).toBe(FULL)
  expect(await count()).toBe(0)
})

it('while another process writes, both wait in their order', async () => {
  const other = await Connection.open(join(folder, 'a.db'), null)
  other.exec('BEGIN IMMEDIATE')
  const writes = Promise.all([connection.writeUnsynced(insert, () => {}), connection.write(insert)])
  expect(synchronous()).toBe(FULL)
  other.exec('COMMIT')
  expect(await writes).toEqual([NORMAL, FULL])
  await other.close()
})
