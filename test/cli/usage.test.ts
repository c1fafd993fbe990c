import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import { root, shell } from './petrel.ts'

const ESCAPE = '\u001b'
const sh = shell()

describe('help', () => {
  it('lists every command and the exit codes', async () => {
    const { code, out, ms } = await sh.petrel('--help')
    expect(code).toBe(0)
    for (const name of [
      'dev',
      'server',
      'worker',
      'run',
      'check',
      'ls',
      'show',
      'watch',
      'cancel',
      'retry',
      'fork',
      'retry-now',
      'migrate',
      'doctor',
      'bench',
    ]) {
      expect(out).toMatch(new RegExp(`^ {2}${name} `, 'm'))
    }
    expect(out).toContain(
      'Exit codes: 0 ok · 1 the work failed · 2 wrong usage or an invalid definition · 3 not found · 4 denied',
    )
    console.log(`petrel --help took ${Math.round(ms)} ms`)
  })

  it('names the commands that docs/cli.md lists, and no others', async () => {
    const table = readFileSync(join(root, 'docs/cli.md'), 'utf8').split('## Commands')[1]?.split('\n## ')[0] ?? ''
    const documentedNames = [...table.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, cell]) => cell?.match(/`[a-z]+/g) ?? [])
    const listed = (await sh.petrel('--help')).out.matchAll(/^ {2}([a-z]+) /gm)
    expect([...new Set(documentedNames.map((word) => word.slice(1)))].sort()).toEqual(
      [...listed].map(([, name]) => name).sort(),
    )
  })

  it('of a command names its options', async () => {
    const { code, out } = await sh.petrel('run', '--help')
    expect(code).toBe(0)
    for (const option of ['--input', '--handlers', '--mock', '--wait', '--store', '--data', '--json'])
      expect(out).toContain(option)
  })

  it('is printed by a bare `petrel`, with the exit code of wrong usage', async () => {
    const { code, err } = await sh.petrel()
    expect(code).toBe(2)
    expect(err).toContain('Usage: petrel')
  })
})

describe('wrong usage', () => {
  it.each([
    [['lss'], "unknown command 'lss'", 'Did you mean ls?'],
    [['ls', '--zzzzzz'], "unknown option '--zzzzzz'", 'petrel ls --help'],
    [['ls', '--limit', 'x'], 'limit must be a whole number', 'petrel ls --help'],
    [['show'], "missing required argument 'id'", 'petrel show --help'],
    [['worker'], 'a worker needs something to work with', '--tools for the steps of playbooks'],
    [['ls', '--store', 'mysql://x'], 'no store is called "mysql://x"', '--store'],
  ])('%j: one line for the error, one for the remedy', async (args, wrong, right) => {
    const { code, out, err } = await sh.petrel(...args)
    expect(code).toBe(2)
    expect(out).toBe('')
    const [first, second] = err.trimEnd().split('\n')
    expect(err.trimEnd().split('\n')).toHaveLength(2)
    expect(first).toMatch(/^petrel: /)
    expect(first).toContain(wrong)
    expect(second).toContain(right)
  })

  it('is JSON on stderr with --json', async () => {
    const { code, out, err } = await sh.petrel('ls', '--store', 'mysql://u:secret@x', '--json')
    expect(code).toBe(2)
    expect(out).toBe('')
    expect(JSON.parse(err)).toMatchObject({
      error: { code: 'unusable_store', message: expect.any(String), details: { hint: expect.any(String) } },
    })
    expect(err).not.toContain('secret')
    expect(JSON.parse((await sh.petrel('ls', '--nope', '--json')).err).error.code).toBe('invalid_request')
  })

  it('shows a stack only with PETREL_DEBUG=1', async () => {
    expect((await sh.petrel('ls', '--store', 'nope:')).err).not.toContain('    at ')
    sh.env = { PETREL_DEBUG: '1' }
    expect((await sh.petrel('ls', '--store', 'nope:')).err).toContain('    at ')
    sh.env = {}
  })
})

describe('missing items', () => {
  it.each([
    [['ls'], 'there is no database .petrel/petrel.db'],
    [['run', 'none.yaml'], 'there is no file none.yaml'],
    [['check', 'none.yaml'], 'there is no file none.yaml'],
  ])('%j exits 3', async (args, message) => {
    const { code, err } = await sh.petrel(...args)
    expect(code).toBe(3)
    expect(err).toContain(message)
  })

  it('an id that does not exist exits 3 in every command that takes one', async () => {
    await sh.petrel('migrate', '--data', 'empty')
    const unknown = '01900000-0000-7000-8000-000000000000'
    for (const command of ['show', 'watch', 'cancel', 'retry', 'fork', 'retry-now', 'approve', 'reject', 'redrive']) {
      for (const id of [unknown, 'nonsense']) {
        const { code, err } = await sh.petrel(command, id, '--data', 'empty')
        expect([command, id, code, err]).toEqual([command, id, 3, expect.stringContaining('there is no')])
      }
    }
  })
})

describe('a database that cannot be used', () => {
  it('a file that is not a database', async () => {
    const file = sh.write('text.db', 'this is no database, only a text that is longer than a header'.repeat(20))
    const { code, err } = await sh.petrel('ls', '--store', `sqlite:${file}`)
    expect(code).toBe(2)
    expect(err).toContain('not an SQLite database')
    expect(err).toContain('restore it from a backup')
  })

  it('a damaged file', async () => {
    const file = join(sh.dir, 'damaged.db')
    await sh.petrel('migrate', '--store', `sqlite:${file}`)
    writeFileSync(file, Buffer.alloc(4096, 0xff), { flag: 'r+' })
    const { code, err } = await sh.petrel('ls', '--store', `sqlite:${file}`)
    expect(code).toBe(2)
    expect(err.split('\n')).toHaveLength(3)
  })

  it('a newer schema: refused by every command, and not changed', async () => {
    const file = join(sh.dir, 'newer.db')
    await sh.petrel('migrate', '--store', `sqlite:${file}`)
    const database = await openDatabase(file)
    database.exec(
      `INSERT INTO workflow_migration (version, name, checksum, applied_at) VALUES (9999, 'future', 'x', 0)`,
    )
    database.close()
    for (const command of ['ls', 'migrate', 'doctor', 'dev']) {
      const { code, err } = await sh.petrel(command, '--store', `sqlite:${file}`)
      expect([command, code]).toEqual([command, 2])
      expect(err).toContain('migration 9999 (future)')
    }
  })

  it('a database that was never migrated is reported', async () => {
    const file = join(sh.dir, 'bare.db')
    const database = await openDatabase(file)
    database.exec('CREATE TABLE something (id int)')
    database.close()
    const { code, err } = await sh.petrel('ls', '--store', `sqlite:${file}`)
    expect(code).toBe(2)
    expect(err).toContain('petrel migrate')
  })
})

describe('output', () => {
  it('has no escape codes when piped; --json prints the same on a terminal', async () => {
    const file = sh.write('one.yaml', 'type: chain\nname: one\nsteps: [{ type: test.one }]\n')
    const run = await sh.petrel('run', file, '--mock')
    expect(run.out).toContain('succeeded')
    expect(run.out).not.toContain(ESCAPE)
    expect((await sh.petrel('--help')).out).not.toContain(ESCAPE)
  })
})
