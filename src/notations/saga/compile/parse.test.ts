import { describe, expect, it } from 'vitest'
import { readInPlace } from '../../read.ts'
import type { DefinitionError } from '../../source/mistakes.ts'
import { subjectProblem } from '../runtime/subject.ts'

const HEAD = `apiVersion: petrel.dev/v1
kind: Saga
metadata: { name: provision, version: 2 }
`

const WHOLE = `${HEAD}spec:
  deadline: 2m
  steps:
    - name: party
      command:
        subject: refdata.v1.parties.save
        body: { name: '{{ request.name }}' }
      compensation:
        subject: refdata.v1.parties.delete
        body: { id: '{{ result.id }}', was: '{{ command.name }}' }
    - name: account
      command:
        subject: iam.v1.accounts.save
        body: { party: '{{ results.party.id }}' }
        resend: 5s
        retry: { max: 2, delay: 10s }
      onSilence: compensate
`

async function mistakes(text: string): Promise<readonly string[]> {
  const error = await readInPlace('saga.yaml', text).then(
    () => null,
    (e: DefinitionError) => e,
  )
  return (error?.problems ?? []).map(
    (p) => `${p.line}:${p.column} ${p.message}${p.hint === null ? '' : ` | ${p.hint}`}`,
  )
}

const spec = (text: string): string => `${HEAD}spec:\n${text}`
const step = (rest: string, name = 'a'): string => `    - { name: ${name}, ${rest} }\n`
const COMMAND = 'command: { subject: s.v1.r.a }'

describe('a saga in a file', () => {
  it('compiles to a net: a step is a node, the one before it its only arc', async () => {
    const { dialect, name, version, start } = await readInPlace('saga.yaml', WHOLE)
    expect([dialect, name, version]).toEqual(['saga', 'provision', '2'])
    const [party, account] = start.net.nodes
    expect(start.net).toMatchObject({ dialect: 'saga', entry: ['party'], onFailure: 'compensate', unknown: 'stop' })
    expect(party).toMatchObject({
      key: 'party',
      work: { type: 'saga.template', queue: 'saga', program: { subject: 'refdata.v1.parties.save', resendMs: 30_000 } },
      timeout: { ms: 120_000, per: 'attempt' },
      undo: { work: { program: { subject: 'refdata.v1.parties.delete' } }, timeout: { ms: 120_000 } },
      next: { arcs: [{ to: 'account' }] },
    })
    expect(account).toMatchObject({ undo: null, unknown: 'undo', retry: { maxAttempts: 3, initialMs: 10_000 } })
    expect(account?.work).toMatchObject({ program: { resendMs: 5_000 } })
  })

  it('steps with dependencies make a graph; those without begin', async () => {
    const text = spec(
      `  steps:\n${step(COMMAND, 'a')}${step(COMMAND, 'b')}${step(`${COMMAND}, dependsOn: [a, b]`, 'c')}`,
    )
    const { net } = (await readInPlace('saga.yaml', text)).start
    expect(net.entry).toEqual(['a', 'b'])
    expect(net.nodes.map((n) => n.join)).toEqual(['each', 'each', 'count'])
  })

  it('built by code, its runs have a separate type', async () => {
    const text = spec(`  build: code\n  onFailure: stop\n  steps:\n${step(COMMAND)}`)
    const { net } = (await readInPlace('saga.yaml', text)).start
    expect(net.nodes[0]?.work).toMatchObject({ type: 'saga.code.provision.v2' })
    expect(net.onFailure).toBe('abort')
  })

  it.each([
    ['no apiVersion', 'kind: Saga\nmetadata: { name: a }\nspec: { steps: [] }', '1:1 a saga needs an apiVersion'],
    ['no steps', spec('  steps: []'), '5:10 steps is empty | at least one step'],
    ['no spec', HEAD, 'a saga needs a spec'],
    ['two of a name', spec(`  steps:\n${step(COMMAND)}${step(COMMAND)}`), "7:15 two steps are called 'a'"],
    ['no command', spec('  steps:\n    - { name: a }\n'), 'a step has a command'],
    [
      'an empty subject',
      spec(`  steps:\n${step("command: { subject: '' }")}`),
      'subject must be a string, not an empty string',
    ],
    ['no subject', spec(`  steps:\n${step('command: { }')}`), 'a command needs a subject'],
    ['an unknown field', spec(`  steps:\n${step(`${COMMAND}, retires: 1`)}`), "a step has no key 'retires'"],
    [
      'an unknown step',
      spec(`  steps:\n${step(COMMAND, 'abc')}${step(`${COMMAND}, dependsOn: [abd]`, 'b')}`),
      "there is no step 'abd' | did you mean 'abc'?",
    ],
    [
      'a circle',
      spec(`  steps:\n${step(`${COMMAND}, dependsOn: [b]`)}${step(`${COMMAND}, dependsOn: [a]`, 'b')}`),
      'these steps wait for each other: a → b → a',
    ],
    ['itself', spec(`  steps:\n${step(`${COMMAND}, dependsOn: [a]`)}`), "'a' waits for itself"],
    [
      'a body in a saga built by code',
      spec(`  build: code\n  steps:\n${step('command: { subject: s.v1.r.a, body: 1 }')}`),
      'the bodies of this saga are built by code',
    ],
    [
      'a name that is not there',
      spec(`  steps:\n${step("command: { subject: s.v1.r.a, body: '{{ requst.x }}' }")}`),
      "there is no 'requst' here | did you mean 'request'?",
    ],
    [
      'a later result',
      spec(`  steps:\n${step("command: { subject: s.v1.r.a, body: '{{ results.b }}' }")}${step(COMMAND, 'b')}`),
      "step 'b' has not ended by then",
    ],
    [
      'a broken expression',
      spec(`  steps:\n${step("command: { subject: s.v1.r.a, body: '{{ request. }}' }")}`),
      'an expression as in {{ request.name }}',
    ],
    ['no time at all', spec(`  deadline: 0\n  steps:\n${step(COMMAND)}`), 'deadline must be longer than zero'],
    [
      'an odd policy',
      spec(`  onFailure: undo\n  steps:\n${step(COMMAND)}`),
      "onFailure cannot be 'undo' | one of: compensate, stop",
    ],
    ['an odd silence', spec(`  steps:\n${step(`${COMMAND}, onSilence: retry`)}`), "onSilence cannot be 'retry'"],
    [
      'silence: undo on a step without undo',
      spec(`  onFailure: stop\n  steps:\n${step(`${COMMAND}, onSilence: compensate`)}`),
      'this saga stops where it fails',
    ],
    ['an odd name', HEAD.replace('provision', "'a b'"), "'a b' cannot be the name of a saga"],
    ['an odd version', HEAD.replace('version: 2', "version: 'a b'"), "'a b' cannot be a version"],
    ['a version that YAML has bent', HEAD.replace('version: 2', 'version: 1.10'), 'version must be a string, not 1.1'],
  ])('%s: the mistake, its position, and a suggestion', async (_, text, message) => {
    expect((await mistakes(text)).join('\n')).toContain(message)
  })

  it.each([
    ['refdata.v1.parties', 'fewer than four parts'],
    ['refdata.parties.v1.save', "second part is the version, not 'parties'"],
    ['refdata.v1.*.save', 'without wildcards'],
    ['refdata.v1.parties.>', 'without wildcards'],
    ['refdata.v1..save', 'a part is empty'],
    ['Refdata.v1.parties.save', "'Refdata' is not of small letters"],
    ['workflow.v1.events.step-completed', 'where the engine itself listens'],
    [`a.v1.b.${'c'.repeat(300)}`, 'longer than 200 characters'],
  ])('no command is sent to %s', (subject, why) => {
    expect(subjectProblem(subject)?.message).toContain(why)
  })

  it('accepts subjects of a service, a version, a resource and an action', () => {
    expect(['iam.v1.account-parties.save', 'ore.v12.ore.import.execute'].map(subjectProblem)).toEqual([null, null])
  })
})
