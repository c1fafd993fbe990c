import { afterEach, describe, expect, it } from 'vitest'
import { harmless, Terminal } from '../../src/cli/terminal/terminal.ts'

const ESCAPE = '\u001b'

function stream(isTTY: boolean) {
  const written: string[] = []
  return { written, isTTY, columns: 40, write: (text: string) => written.push(text) > 0 }
}

function terminal(tty: boolean, json = false) {
  const out = stream(tty)
  return { out, terminal: new Terminal({ json, out: out as never, err: stream(tty) as never }) }
}

afterEach(() => {
  delete process.env['NO_COLOR']
})

describe('a terminal', () => {
  it('uses colours on a TTY, and none with NO_COLOR', () => {
    expect(terminal(true).terminal.paint('red', 'x')).toContain(ESCAPE)
    process.env['NO_COLOR'] = '1'
    expect(terminal(true).terminal.paint('red', 'x')).toBe('x')
  })

  it('neither uses colours nor redraws in a pipe', () => {
    expect(terminal(false).terminal.paint('red', 'x')).toBe('x')
    expect(terminal(false).terminal.live).toBe(false)
  })

  it('prints only JSON with --json', () => {
    const { out, terminal: t } = terminal(true, true)
    t.print('for people')
    t.data({ a: 1 })
    expect(out.written.join('')).toBe('{\n  "a": 1\n}\n')
  })

  it('aligns columns regardless of colour codes in the cells', () => {
    const { terminal: t } = terminal(true)
    const lines = t.tableLines(
      [{ title: 'A' }, { title: 'N', align: 'right' }],
      [
        [t.paint('red', 'long'), '1'],
        ['x', '22'],
      ],
    )
    const plain = lines.map((line) => line.replace(/\u001b\[\d+m/g, ''))
    expect(plain).toEqual(['A      N', 'long   1', 'x     22'])
  })

  it('redraws a block in place, and never wraps a line', () => {
    const { out, terminal: t } = terminal(true)
    const block = t.redraw()
    block.draw(['one', 'two'])
    block.draw(['x'.repeat(100)])
    expect(out.written[1]).toContain(`${ESCAPE}[2A`)
    expect(out.written[1]).not.toContain('x'.repeat(40))
  })

  it('removes control sequences from data', () => {
    expect(harmless(`a${ESCAPE}[2Jb\u0007`)).toBe('a�[2Jb�')
  })
})
