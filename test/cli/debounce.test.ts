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
