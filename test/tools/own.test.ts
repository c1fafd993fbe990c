/** Custom tools in a pipeline. */
import { describe, expect, it } from 'vitest'
import type { Tool } from '../../src/tools/tool.ts'
import { Tools } from '../../src/tools/tools.ts'
import { execute, FakeRun, ok, program, task } from '../pipeline/fakes.ts'

const mine = (run: Tool['run'], more: Partial<Tool> = {}): Tool => ({ kind: 'mine', check: () => [], run, ...more })
const ran = (tool: Tool, config = {}) =>
  execute(new FakeRun(program([task('a', { kind: 'mine', config })])), { tools: new Tools().add(tool) })

describe('a custom tool', () => {
  it('gets its fields rendered, except those it wants verbatim', async () => {
    const tool = mine(async ({ config }) => ok(config), { verbatim: ['template'] })
    const config = { text: '{{ 1 + 1 }}', template: '{{ name }}, {% nothing %}' }
    expect(await ran(tool, config)).toMatchObject({
      kind: 'succeeded',
      result: { text: 2, template: '{{ name }}, {% nothing %}' },
    })
  })

  it('has secrets it registers removed from everything, from then on', async () => {
    const tool = mine(async ({ conceal, logger }) => {
      conceal('from-my-vault')
      logger.info({}, 'has from-my-vault')
      return {
        ...ok(null),
        status: 'error',
        error: { kind: 'mine', code: 'X', message: 'from-my-vault', retryable: false },
      }
    })
    const run = new FakeRun(program([task('a', { kind: 'mine' })]))
    const done = await execute(run, { tools: new Tools().add(tool) })
    expect(done.failure).toMatchObject({ code: 'mine', message: '***' })
    expect(run.logged).toHaveLength(1)
    expect(JSON.stringify([done, run.logged])).not.toContain('vault')
  })

  it.each<[string, Tool['run'], string]>([
    ['throws', async () => Promise.reject(new Error('broken')), 'broken'],
    [
      'throws at once',
      () => {
        throw new Error('broken')
      },
      'broken',
    ],
    ['answers with nothing', async () => undefined as never, "the tool 'mine' did not answer with an envelope"],
  ])('that %s is an error of the tool', async (_what, run, message) => {
    expect((await ran(mine(run))).failure).toMatchObject({
      code: 'unknown',
      message,
      details: { error: { code: 'TOOL_ERROR' } },
    })
  })

  it('replaces a standard tool of the same name', async () => {
    const tools = Tools.standard().add(mine(async () => ok('mine'), { kind: 'shell' }))
    const run = new FakeRun(program([task('a', { kind: 'shell', config: { cmd: 'exit 1' } })]))
    expect(await execute(run, { tools })).toMatchObject({ result: 'mine' })
  })
})
