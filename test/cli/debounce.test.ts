/** start --debounce at a shell. */
import { expect, it } from 'vitest'
import { shell } from './petrel.ts'

const sh = shell()
const petrel = (...args: readonly string[]) => sh.petrel(...args, '--store', 'sqlite:debounce.db')

it('start --debounce waits, and the last start replaces the others', async () => {
  sh.write(
    'index.yaml',
    'apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: index }\nspec:\n  steps:\n    - { name: write, timeout: 1h }\n',
  )
  await petrel('deploy', 'index.yaml')
  const first = await petrel('start', 'index', '--debounce', 'k', '--delay', '600')
  expect(first.out).toMatch(/^instance [0-9a-f-]{36} of index starts at 20\S+ \S+Z, unless another start follows\n$/)
  const second = await petrel('start', 'index', '--debounce', 'k', '--delay', '600')
  expect(second.out).toMatch(/; it replaces 1 earlier start\n$/)
  expect(second.out.split(' ')[1]).toBe(first.out.split(' ')[1])
  const third = await petrel('start', 'index', '--debounce', 'k', '--delay', '600', '--max', '900', '--json')
  expect(third.json().debounced).toMatchObject({ key: 'k', id: first.out.split(' ')[1], replaced: 2 })
  for (const args of [
    ['--delay', '5'],
    ['--debounce', 'k', '--delay', 'soon'],
    ['--debounce', 'k', '--key', 'a'],
  ]) {
    expect([args, (await petrel('start', 'index', ...args)).code]).toEqual([args, 2])
  }
}, 60_000)

it('submit --debounce waits; debounced lists what waits, starts and cancels it', async () => {
  const submit = (n: number, key: string) =>
    petrel('submit', 'mail.send.v1', `{"n": ${n}}`, '--debounce', key, '--delay', '600')
  const first = await submit(1, 'a')
  expect(first.out).toMatch(
    /^run [0-9a-f-]{36} of mail\.send\.v1 starts at 20\S+ \S+Z, unless another start follows\n$/,
  )
  expect((await submit(2, 'a')).out).toMatch(/; it replaces 1 earlier start\n$/)
  const [, id] = first.out.split(' ') as [string, string]
  const [, other] = (await submit(3, 'b')).out.split(' ') as [string, string]
  const listed = await petrel('debounced')
  expect(listed.out).toMatch(/^ID +KIND +NAME +KEY +STARTS +FIRST +REPLACED\n/)
  expect(listed.out).toContain(id)
  const page = await petrel('debounced', 'ls', '--limit', '1')
  expect(page.out).toContain(`more: petrel debounced --before ${other}`)
  expect((await petrel('debounced', 'start', id)).out).toBe(`run ${id} of mail.send.v1 has started\n`)
  expect((await petrel('runs', 'show', id, '--json')).json().run).toMatchObject({ payload: { n: 2 } })
  expect((await petrel('debounced', 'cancel', other, '--json')).json().debounced).toMatchObject({ id: other, key: 'b' })
  const again = await petrel('debounced', 'cancel', other)
  expect([again.code, again.err]).toEqual([3, expect.stringContaining('`petrel debounced` lists those that wait')])
  expect((await petrel('submit', 'mail.send.v1', '{}', '--debounce', 'a', '--key', 'k')).code).toBe(2)
}, 60_000)
