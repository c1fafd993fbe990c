/** Text of projections, painted. None of it steers the terminal, wherever it came from. */
import type { Line, Role, Table, Text } from '../../notations/interface/sheet.ts'
import { type Colour, harmless, type Terminal } from './terminal.ts'
import { paintState } from './words.ts'

const COLOURS: { readonly [R in Exclude<Role, 'state'>]: Colour } = { strong: 'bold', faint: 'dim', wrong: 'red' }

export function painted(terminal: Terminal, line: Line): string {
  return line.map((text) => paint(terminal, text)).join('')
}

/** The first line has the titles. */
export function tableLines(terminal: Terminal, { columns, rows }: Table): readonly string[] {
  return terminal.tableLines(
    columns,
    rows.map((row) => row.map((text) => paint(terminal, text))),
  )
}

function paint(terminal: Terminal, text: Text): string {
  if (typeof text === 'string') return harmless(text)
  const word = harmless(text.text)
  return text.as === 'state' ? paintState(terminal, word) : terminal.paint(COLOURS[text.as], word)
}
