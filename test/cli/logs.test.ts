/** petrel logs: what handlers log and what tasks print, without secrets. */
import { beforeAll, describe, expect, it } from 'vitest'
import { shell } from './petrel.ts'

const sh = shell()

const PLAYBOOK = `
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: printing }
keychain:
  - { name: api, kind: env, map: { key: API_TOKEN } }
workflow:
  - step: print
    tool:
      - { name: sh, kind: shell, cmds: ["echo the key is {{ keychain.api.key }}; echo bad >&2"] }
      - { name: py, kind: python, code: "print('from python'); result = 1" }
      - { name: js, kind: javascript, code: "console.log('from javascript'); return 1" }
`

describe('petrel logs', () => {
  let id: string
  beforeAll(async () => {
    const handlers = sh.write(
      'handlers.mjs',
      `export default { 'test.log': (args, ctx) => { ctx.log.info('begins', { n: 1 }); ctx.log.error('\\u001b[31mends'); return args } }`,
    )
    const text = 'type: chain\nname: logged\nsteps: [{ type: test.log }, { type: test.log }]\n'
    const ran = await sh.petrel('run', sh.write('flow.yaml', text), '--handlers', handlers, '--json')
    id = ran.json().instance.id
  })

  it('prints the lines of all runs of an instance, or of one run', async () => {
    const { code, out } = await sh.petrel('logs', id)
    expect(code).toBe(0)
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => line.replace(/^[\d:.]+ {2}/, '')),
    ).toEqual([
      '0  info    begins  {"n":1}',
      '0  error   �[31mends',
      '1  info    begins  {"n":1}',
      '1  error   �[31mends',
    ])
    const lines = (await sh.petrel('logs', id, '--json')).out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines[0]).toMatchObject({
      node: '0',
      attempt: 1,
      number: 0,
      level: 'info',
      text: 'begins',
      fields: { n: 1 },
    })
    const ofRun = await sh.petrel('logs', lines[2].run_id)
    expect(ofRun.out.match(/begins/g)).toHaveLength(1)
    expect((await sh.petrel('logs', lines[2].run_id, '--attempt', '2')).out).toBe('')
    expect((await sh.petrel('logs', id, '--follow')).out).toBe(out)
    expect((await sh.petrel('logs', '01890000-0000-7000-8000-000000000000')).code).toBe(3)
  })

  it('has what the tasks of a playbook print, with secrets masked', async () => {
    sh.env['API_TOKEN'] = 's3cret-value'
    const ran = (await sh.petrel('run', sh.write('printing.yaml', PLAYBOOK), '--json')).json()
    expect([ran.instance.state, ran.error]).toEqual(['completed', null])
    const { out } = await sh.petrel('logs', ran.instance.id, '--json')
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ stream, text }: any) => [stream, text]).sort()).toEqual([
      ['stderr', 'bad'],
      ['stdout', 'from javascript'],
      ['stdout', 'from python'],
      ['stdout', 'the key is ***'],
    ])
    expect(out).not.toContain('s3cret')
  })
})
