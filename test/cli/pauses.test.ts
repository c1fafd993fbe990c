/** pause, resume and pauses on the command line. */
import { describe, expect, it } from 'vitest'
import { shell } from './petrel.ts'

const sh = shell()
const FLOW = 'type: chain\nname: order\nsteps: [{ type: card.charge }]\n'

describe('pause and resume', () => {
  const store = `sqlite:${sh.dir}/pauses.db`
  const petrel = (...args: readonly string[]) => sh.petrel(...args, '--store', store)

  it('pauses with a reason, shows it, lists it, refuses a second pause, and resumes', async () => {
    await petrel('deploy', sh.write('order.yaml', FLOW))
    const { id } = (await petrel('start', 'order', '--json')).json()
    const paused = await petrel('pause', id, '--reason', 'audit', '--timeouts', 'run', '--json')
    expect([paused.code, paused.json()]).toMatchObject([
      0,
      { instance: { id, paused: true }, pause: { kind: 'instance', name: id, reason: 'audit', timeouts: 'run' } },
    ])
    expect((await petrel('ls')).out).toMatch(/order +running paused/)
    expect((await petrel('show', id)).out).toMatch(/^paused +the workflow is paused.*: audit; its times continue$/m)
    expect((await petrel('why', id)).out).toContain(`petrel resume ${id}`)
    expect((await petrel('pauses')).out).toMatch(new RegExp(`^instance +${id} +paused .* audit$`, 'm'))
    const again = await petrel('pause', id)
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('is already paused, since')])
    const resumed = await petrel('resume', id)
    expect([resumed.code, resumed.out]).toEqual([0, expect.stringMatching(/^order .* continues; it was paused for /)])
    expect((await petrel('pauses')).out).toBe('nothing is paused\n')
    expect((await petrel('resume', id)).code).toBe(1)
  })

  it('refuses what it does not know', async () => {
    expect(await petrel('pause', '00000000-0000-7000-8000-000000000000')).toMatchObject({ code: 3 })
    const { id } = (await petrel('start', 'order', '--json')).json()
    expect((await petrel('pause', id, '--timeouts', 'halt')).code).toBe(2)
    expect((await petrel('pauses', '--before', 'x')).code).toBe(2)
  })

  it('pauses and resumes a definition and a type', async () => {
    const definition = await petrel('definitions', 'pause', 'order', '--reason', 'prices', '--json')
    expect(definition.json()).toMatchObject({ pause: { kind: 'definition', name: 'order', reason: 'prices' } })
    expect((await petrel('start', 'order', '--json')).json().instance.state).toBe('queued')
    expect((await petrel('definitions', 'pause', 'order')).code).toBe(1)
    expect((await petrel('definitions', 'resume', 'order')).out).toMatch(/^order continues; it was paused for /)
    expect((await petrel('registry', 'pause', 'card.charge')).out).toBe(
      'card.charge is paused: no worker takes its runs\n',
    )
    expect((await petrel('pauses')).out).toMatch(/^type +card.charge +paused /m)
    expect((await petrel('registry', 'resume', 'card.charge')).code).toBe(0)
    expect((await petrel('registry', 'pause', 'card.%')).code).toBe(2)
  })
})
