/** External failures: the step fails with a kind that names the cause, and the execution ends by its policy. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Failure } from '../../src/net/marking.ts'
import { STORES } from '../dag/stores.ts'
import { Performance } from './performance.ts'
import { playbook } from './stage.ts'

/** Accepts connections and never sends anything. */
const silent = createServer(() => {})

const python = (code: string, more = ''): string => `{ kind: python, ${more}code: ${JSON.stringify(code)} }`

/** A tool, and the kind and message of the error it must end with. */
const CASES: readonly (readonly [what: string, tool: string, kind: string, words: RegExp])[] = [
  ['python that raises', python('raise RuntimeError("no such row")'), 'unknown', /no such row/],
  ['python that does not parse', python('def ('), 'parse', /SyntaxError|invalid syntax/],
  ['python that exits', python('import os; os._exit(3)'), 'unknown', /3/],
  ['python that kills itself', python('import os, signal; os.kill(os.getpid(), signal.SIGKILL)'), 'unknown', /SIGKILL/],
  ['python that never ends', python('while True: pass', 'timeout: 1, '), 'timeout', /1/],
  ['python whose result is no JSON', python('result = float("nan")'), 'transform', /nan|JSON/i],
  ['a command that fails', "{ kind: shell, cmd: 'echo broken >&2; exit 7' }", 'unknown', /7/],
  ['a command that never ends', '{ kind: shell, cmd: sleep 60, timeout_seconds: 1 }', 'timeout', /1/],
  ['an address without a listener', '{ kind: http, url: "http://127.0.0.1:1/" }', 'connection', /127\.0\.0\.1/],
  ['a service that never answers', '{ kind: http, url: "{{ workload.silent }}", timeout: 1 }', 'timeout', /1/],
  [
    'a template that cannot be rendered',
    '{ kind: shell, cmd: "{{ workload.n + 1 }}" }',
    'transform',
    /playbook|task|cmd/,
  ],
]

describe.each(STORES)('bad input on $name', (place) => {
  let stage: Performance
  let url: string
  beforeAll(async () => {
    stage = await Performance.open(place)
    if (!silent.listening) await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`
  })
  afterAll(async () => {
    await stage.close()
    silent.closeAllConnections()
    silent.close()
  })

  it.each(CASES)('%s fails its step and the execution', async (_, tool, kind, words) => {
    const text = playbook(`workload: { silent: "${url}", n: text }\nworkflow:\n  - { step: a, tool: ${tool} }\n`)
    const id = await stage.start(await stage.read(text))
    expect(await stage.ended(id)).toBe('failed: failed')
    const error = (await stage.error(id)) as Failure & { readonly node: string }
    expect([error.code, error.node]).toEqual([kind, 'a'])
    expect(error.message).toMatch(words)
  })

  it('python that prints garbage still returns its result', async () => {
    const code = 'import sys; print("{\\"result\\": 1}\\x00\\xff"); sys.stderr.write("garbage"); result = {"n": 2}'
    const id = await stage.start(await stage.read(playbook(`workflow:\n  - { step: a, tool: ${python(code)} }\n`)))
    expect(await stage.ended(id)).toBe('completed: success')
    expect(await stage.results(id)).toEqual({ a: { n: 2 } })
  })
})
