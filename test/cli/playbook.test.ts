/** Playbooks at the shell: run, inspected, approved, continued by another process, checked. */
import { describe, expect, it } from 'vitest'
import { shell } from './petrel.ts'

const sh = shell()
let files = 0

function write(sections: string, name = `book-${++files}`): string {
  return sh.write(`${name}.yaml`, `apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: ${name} }\n${sections}`)
}

const run = (name: string, cmd: string, rest = ''): string =>
  `  - { step: ${name}, tool: { kind: shell, cmd: '${cmd}' }${rest === '' ? '' : `, ${rest}`} }\n`
const to = (step: string): string => `next: { arcs: [{ step: ${step} }] }`
const GATE = "spec: { policy: { admit: { rules: [{ when: '{{ ctx.approved }}', then: { allow: true } }] } } }"

/** Lines without their times. */
const linesOf = (out: string): readonly string[] =>
  out.split('\n').flatMap((line) => /^ *\+[\d.]+ m?s {2}(.*)$/.exec(line)?.[1]?.replace(/ +/g, ' ') ?? [])

describe('petrel run', () => {
  it('prints the steps in the order in which they ended, with the final one last', async () => {
    const file = write(
      `executor: { spec: { final_step: report } }\nworkflow:\n  - { step: begin, ${to('each')} }\n` +
        "  - { step: each, loop: { in: [1, 2], iterator: i }, tool: { kind: shell, cmd: 'echo {{ iter.i }}' } }\n" +
        run('report', 'echo done'),
      'ordered',
    )
    const { code, out, err } = await sh.petrel('run', file)
    expect([code, err]).toEqual([0, ''])
    expect(linesOf(out)).toEqual([
      'begin noop done',
      'each loop of shell loop started 2 items',
      'each[0] loop of shell done',
      'each[1] loop of shell done',
      'each loop of shell loop done 2 of 2 done, 0 failed',
      'report shell done',
      'ordered success',
    ])
    expect(out).toMatch(/^ordered success in .*: 3 succeeded, 0 failed/m)
  })

  it.each([
    ['success', '', 'true', 0, 'success'],
    ['failed', '', 'exit 3', 1, 'failed'],
    ['partial', 'executor: { spec: { policy: { partial: true } } }\n', 'exit 3', 1, 'partial'],
  ])('%s is an exit code', async (_, executor, cmd, code, status) => {
    const ended = await sh.petrel(
      'run',
      write(`${executor}workflow:\n${run('a', 'true', to('b'))}${run('b', cmd)}`),
      '--json',
    )
    expect([ended.code, ended.json().execution.status]).toEqual([code, status])
  })

  it('announces warnings on stderr; mistakes prevent the run', async () => {
    const odd = write(`workflow:\n${run('a', 'true', 'next: b')}${run('b', 'true')}`)
    const warned = await sh.petrel('run', odd)
    expect([warned.code, warned.err]).toEqual([0, `${odd}: 1 warning; \`petrel check ${odd}\` shows it\n`])
    const wrong = write(`workflow:\n${run('a', 'touch ran', to('c'))}`)
    const refused = await sh.petrel('run', wrong)
    expect([refused.code, refused.out]).toEqual([2, ''])
    expect(refused.err).toContain(`${wrong}:5:`)
    expect(refused.err).toContain("there is no step 'c'")
  })

  it('an input that is not a mapping is refused', async () => {
    const { code, err } = await sh.petrel('run', write(`workflow:\n${run('a', 'true')}`), '--input', '[1]')
    expect([code, err]).toEqual([2, expect.stringContaining('must be a mapping of names to values, not a list')])
  })

  it('--mock calls no tool: steps return the given outcomes, and delays are skipped', async () => {
    const file = write(
      `workflow:\n${run('a', 'touch mocked', "next: { arcs: [{ step: b, when: '{{ a.n > 2 }}' }, { step: c }] }")}${run('b', 'true')}${run('c', 'true')}`,
    )
    const outcomes = sh.write(
      'outcomes.yaml',
      'a: { result: { n: 3 }, delay: 2h }\nb: { error: { code: timeout, message: too slow } }\n',
    )
    const { code, json } = await sh.petrel('run', file, '--mock', outcomes, '--json')
    const { execution, trace } = json()
    expect([code, execution.status]).toEqual([1, 'failed'])
    expect(execution.failures).toEqual([{ step: 'b', code: 'timeout', message: 'too slow', handled: false }])
    expect(trace.some((step: { node: string }) => step.node === 'c')).toBe(false)
    expect((await sh.petrel('ls', '--json', '--name', 'mocked')).json().instances).toEqual([])
  })
})

describe('an approval', () => {
  it('is shown by show and why, is given through the context, and lets a worker of another process continue', async () => {
    const file = write(
      `workflow:\n${run('draft', 'echo drafted', to('send'))}${run('send', 'echo sent', GATE)}`,
      'approval',
    )
    const waiting = await sh.petrel('run', file)
    expect([waiting.code, linesOf(waiting.out).slice(-2)]).toEqual([1, ['send shell held', 'approval waiting']])
    const id = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(waiting.out)?.[0] as string
    expect(waiting.out).toContain(`petrel context ${id} approved=true`)
    expect((await sh.petrel('why', id)).out).toMatch(/^send +pending +held by its admission rules/m)
    const shown = (await sh.petrel('show', id)).out
    expect(shown).toMatch(/^blocked {2}send: 1 token held/m)
    expect(shown).toMatch(/^draft +done +shell/m)
    expect((await sh.petrel('ls')).out).toMatch(/approval +playbook +waiting|approval.*waiting/)
    expect((await sh.petrel('context', id, 'approved=true')).out).toBe('approved = true\n')
    const worker = sh.start('worker', '--tools', 'shell')
    await worker.until(/working on playbook\.step/)
    const watched = await sh.petrel('watch', id)
    expect([watched.code, linesOf(watched.out).at(-1)]).toEqual([0, 'approval success'])
    worker.child.kill('SIGTERM')
    await worker.ended
    const sent = await sh.petrel('show', id, '--result', 'send')
    expect(sent.json().stdout).toBe('sent\n')
    const events = await sh.petrel('show', id, '--events')
    expect(events.out).not.toContain('+-')
    const words = events.out.split('\n').flatMap((line) => /^ *\+\S+ m?s? +([a-z]+\.[a-z.]+)/.exec(line)?.[1] ?? [])
    expect(words.indexOf('playbook.paused')).toBeGreaterThan(words.lastIndexOf('next.evaluated'))
    expect(words.indexOf('ctx.updated')).toBeGreaterThan(words.indexOf('playbook.paused'))
    expect(words.slice(-5)).toEqual([
      'task.attempt.done',
      'task.done',
      'step.done',
      'workflow.finished',
      'playbook.finished',
    ])
    const pages: string[] = []
    const page = (await sh.petrel('show', id, '--events', '--json')).json()
    for (const { event_id } of page.events) pages.push(event_id)
    expect(new Set(pages).size).toBe(pages.length)
    const half = page.events[Math.floor(page.events.length / 2)].event_id
    const rest = (await sh.petrel('show', id, '--events', '--after', half, '--json')).json().events
    expect(rest.every((event: { event_id: string }) => pages.includes(event.event_id))).toBe(true)
  }, 60_000)

  it('watch prints the events of a deployed and started playbook as JSON lines', async () => {
    const file = write(`workflow:\n${run('a', 'echo one')}`, 'watched')
    expect((await sh.petrel('deploy', file)).code).toBe(0)
    const { id } = (await sh.petrel('start', 'watched', '--json')).json()
    const watching = sh.start('watch', id, '--json')
    await watching.until(/step\.scheduled/)
    const worker = sh.start('worker', '--tools')
    const { code, out } = await watching.ended
    worker.child.kill('SIGTERM')
    await worker.ended
    const types = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).event_type)
    expect([code, types[0], types.at(-1)]).toEqual([0, 'playbook.execution.requested', 'playbook.finished'])
    expect(types).toContain('task.attempt.done')
  }, 60_000)
})

describe('petrel check', () => {
  it('lists steps, tools and unreachable parts; --strict turns each warning into an error', async () => {
    const file = write(`workflow:\n${run('a', 'true', to('a'))}${run('b', 'true')}`)
    const { code, json } = await sh.petrel('check', file, '--json')
    expect([code, json()]).toEqual([
      0,
      expect.objectContaining({
        valid: true,
        dialect: 'playbook',
        tools: ['shell'],
        warnings: [
          expect.objectContaining({ rule: 'endless_loop', line: 5 }),
          expect.objectContaining({ rule: 'unreachable_step', line: 6 }),
        ],
      }),
    ])
    const strict = await sh.petrel('check', '--strict', file)
    expect([strict.code, strict.out.split('\n').filter((line) => line.startsWith(file)).length]).toEqual([2, 2])
  })

  it('prints the first hundred mistakes of a file, and the number of the rest', async () => {
    const steps = Array.from({ length: 150 }, (_, i) => `  - { step: s${i}, tool: { kind: nope } }\n`).join('')
    const { code, out } = await sh.petrel('check', write(`workflow:\n${steps}`))
    expect([code, out.trimEnd().split('\n').at(-1)]).toEqual([2, '… and 50 more'])
  })

  it.each([
    ['an alias inside itself', 'workload: { a: &a [*a] }\n'],
    ['lists without end', `workload: { a: ${'['.repeat(20_000)}${']'.repeat(20_000)} }\n`],
    ['a NUL character', 'workload: { a: "\\0" }\n'],
    ['a key twice', 'workload: { a: 1, a: 2 }\n'],
  ])('%s: file, line and reason', async (_, workload) => {
    const file = write(`${workload}workflow:\n${run('a', 'true')}`)
    const { code, out, err } = await sh.petrel('check', file)
    expect([code, err]).toEqual([2, ''])
    expect(out).toMatch(new RegExp(`^${file.replaceAll('.', '\\.')}:\\d+:\\d+: .+\n {2}.+\n$`))
  })
})
