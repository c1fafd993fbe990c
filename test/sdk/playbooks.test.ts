/** Playbooks through the public API: started from a text or a file, with custom tools, inspected, approved. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DefinitionError, PetrelError, type Tool, Tools, WorkflowFailed } from '../../src/index.ts'
import { onBothStores } from './stores.ts'

const playbook = (name: string, sections: string): string =>
  `apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: ${name} }\n${sections}`

const shout: Tool = {
  kind: 'shout',
  check: (config) => (typeof config['text'] === 'string' ? [] : [{ path: ['text'], message: 'text is missing' }]),
  run: async ({ config }) => ({ status: 'ok', result: String(config['text']).toUpperCase(), error: null }),
}

const SHOUT = playbook(
  'shout',
  `workload: { words: [a, b] }
workflow:
  - step: each
    loop: { in: "{{ workload.words }}", iterator: word }
    tool: { kind: shout, text: "{{ iter.word }}" }
    next: { arcs: [{ step: tell }] }
  - step: tell
    spec: { policy: { admit: { rules: [{ when: "{{ ctx.ok }}", then: { allow: true } }] } } }
    tool: { kind: noop, result: "{{ each.results | join }}" }
`,
)

onBothStores('playbooks', (stage) => {
  it('run with a custom tool, wait for a patch, and return their results by step', async () => {
    const petrel = await stage.open()
    petrel.playbooks({ tools: Tools.standard().add(shout) })
    await petrel.work()
    const handle = await petrel.startText(SHOUT, { input: { words: ['x', 'y', 'z'] } })
    await expect.poll(async () => (await handle.execution())?.status, { timeout: 20_000 }).toBe('waiting')
    expect(await handle.execution()).toMatchObject({
      playbook: 'shout',
      counts: { succeeded: 3, held: 1 },
      blocked_tokens: [{ step: 'tell', tokens: 1, state: 'held' }],
    })
    await handle.patch({ ok: true }, 'ann')
    expect(await handle.result()).toMatchObject({
      each: { results: ['X', 'Y', 'Z'], stats: { total: 3, success: 3, failed: 0 } },
      tell: 'XYZ',
    })
    expect((await handle.execution())?.status).toBe('success')
  })

  it('that fail reject with the failed step', async () => {
    const petrel = await stage.open()
    await petrel.playbooks().work()
    const handle = await petrel.startText(
      playbook('bad', "workflow:\n  - { step: a, tool: { kind: shell, cmd: 'exit 3' } }\n"),
    )
    const error = await handle.result().catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(WorkflowFailed)
    expect(error).toMatchObject({ state: 'failed', node: 'a' })
    expect((await handle.execution())?.failures).toMatchObject([{ step: 'a', handled: false }])
  })

  it('are read from a file, with the neighbouring files it names', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'petrel-sdk-'))
    writeFileSync(
      join(folder, 'inner.yaml'),
      playbook(
        'inner',
        'workload: { n: 1 }\nworkflow:\n  - { step: twice, tool: { kind: noop, result: "{{ workload.n * 2 }}" } }\n',
      ),
    )
    writeFileSync(
      join(folder, 'outer.yaml'),
      playbook(
        'outer',
        'workflow:\n  - { step: sub, tool: { kind: playbook, path: inner, return_step: twice, input: { n: 21 } } }\n',
      ),
    )
    const petrel = await stage.open()
    await petrel.playbooks().work()
    const handle = await petrel.startFile(join(folder, 'outer.yaml'))
    expect(await handle.result()).toEqual({ sub: { twice: 42, result: 42 } })
    rmSync(folder, { recursive: true })
  })

  it('with mistakes, or with an input that is not a mapping, start nothing', async () => {
    const petrel = await stage.open()
    const unknown = await petrel.startText(SHOUT, { file: 'shout.yaml' }).catch((caught: unknown) => caught)
    expect(unknown).toBeInstanceOf(DefinitionError)
    expect((unknown as DefinitionError).problems).toMatchObject([{ line: 8, message: "there is no kind 'shout'" }])
    petrel.playbooks({ tools: Tools.standard().add(shout) })
    const list = await petrel.startText(SHOUT, { input: ['x'] }).catch((caught: unknown) => caught)
    expect(list).toBeInstanceOf(PetrelError)
    expect(list).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('mapping') })
  })

  it("read no secret of the process unless allowed, and a tenant's secrets only in its own runs", async () => {
    const petrel = await stage.open()
    process.env['PETREL_TEST_ACME_TOKEN'] = 'of-acme'
    try {
      petrel.playbooks({ secrets: { env: ['acme:PETREL_TEST_ACME_*'] } })
      await petrel.work()
      const reading = playbook(
        'reading',
        `keychain: [{ name: api, kind: env, ref: PETREL_TEST_ACME_TOKEN }]
workflow:
  - step: a
    tool: { kind: javascript, input: { token: "{{ keychain.api }}" }, code: "return token.length" }
`,
      )
      expect(await (await petrel.startText(reading, { tenant: 'acme' })).result()).toEqual({ a: 7 })
      for (const options of [{ tenant: 'globex' }, {}]) {
        const error = await (await petrel.startText(reading, options)).result().catch((caught: unknown) => caught)
        expect(JSON.stringify(error)).toContain('KEYCHAIN_FORBIDDEN')
      }
    } finally {
      delete process.env['PETREL_TEST_ACME_TOKEN']
    }
    expect(() => petrel.playbooks({ secrets: { env: ['A B'] } })).toThrow('names no environment variable')
  })
})
