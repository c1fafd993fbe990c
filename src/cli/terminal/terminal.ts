/**
 * The output of a command. On a terminal: colour and lines that redraw themselves. Piped, or with NO_COLOR: plain
 * lines, never an escape code. With --json: one JSON value on stdout and nothing else there.
 */
import { stripVTControlCharacters } from 'node:util'

export type Colour = 'red' | 'green' | 'yellow' | 'blue' | 'dim' | 'bold'

const CODES: { readonly [colour in Colour]: readonly [number, number] } = {
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  dim: [2, 22],
  bold: [1, 22],
}

export interface Column {
  readonly title: string
  readonly align?: 'right'
}

export class Terminal {
  readonly json: boolean
  /** Lines may be redrawn: a person is watching. */
  readonly live: boolean
  readonly #colour: boolean
  readonly #out: NodeJS.WriteStream
  readonly #err: NodeJS.WriteStream

  constructor(options: {
    readonly json: boolean
    readonly out?: NodeJS.WriteStream
    readonly err?: NodeJS.WriteStream
  }) {
    this.#out = options.out ?? process.stdout
    this.#err = options.err ?? process.stderr
    this.json = options.json
    const tty = this.#out.isTTY === true && process.env['TERM'] !== 'dumb'
    this.live = tty && !this.json
    this.#colour = this.live && !process.env['NO_COLOR']
  }

  get columns(): number {
    return this.#out.columns || 100
  }

  /** A line for people; not printed with --json. */
  print(line = ''): void {
    if (!this.json) this.#out.write(`${line}\n`)
  }

  /** The answer of the command, for machines. */
  data(value: unknown): void {
    this.#out.write(`${JSON.stringify(value, null, 2)}\n`)
  }

  /** One JSON value per line: intermediate output of a command. */
  record(value: unknown): void {
    this.#out.write(`${JSON.stringify(value)}\n`)
  }

  error(text: string): void {
    this.#err.write(`${text}\n`)
  }

  paint(colour: Colour, text: string): string {
    if (!this.#colour) return text
    const [on, off] = CODES[colour]
    return `\u001b[${on}m${text}\u001b[${off}m`
  }

  table(columns: readonly Column[], rows: readonly (readonly string[])[]): void {
    for (const line of this.tableLines(columns, rows)) this.print(line)
  }

  tableLines(columns: readonly Column[], rows: readonly (readonly string[])[]): readonly string[] {
    const widths = columns.map((c, i) => Math.max(c.title.length, ...rows.map((row) => widthOf(row[i] ?? ''))))
    const line = (cells: readonly string[]): string =>
      columns
        .map((column, i) => {
          const cell = cells[i] ?? ''
          const space = ' '.repeat((widths[i] as number) - widthOf(cell))
          return column.align === 'right' ? space + cell : cell + space
        })
        .join('  ')
        .trimEnd()
    return [this.paint('dim', line(columns.map((c) => c.title))), ...rows.map(line)]
  }

  /** Draws a block of lines over the one drawn before. Only on a live terminal. */
  redraw(): Redraw {
    return new Redraw(this.#out, () => this.columns)
  }
}

/** A block at the bottom of the terminal that is replaced as a whole. */
export class Redraw {
  readonly #out: NodeJS.WriteStream
  readonly #columns: () => number
  #drawn = 0

  constructor(out: NodeJS.WriteStream, columns: () => number) {
    this.#out = out
    this.#columns = columns
  }

  draw(lines: readonly string[]): void {
    const up = this.#drawn > 0 ? `\u001b[${this.#drawn}A` : ''
    // A line that wraps would make the count of lines wrong.
    const body = lines.map((line) => `\u001b[2K${cutTo(line, this.#columns())}\n`).join('')
    this.#out.write(`${up}\r\u001b[J${body}`)
    this.#drawn = lines.length
  }

  /** Keeps the drawn block and continues below it. */
  keep(): void {
    this.#drawn = 0
  }

  clear(): void {
    this.draw([])
  }
}

function widthOf(text: string): number {
  return [...stripVTControlCharacters(text)].length
}

function cutTo(line: string, columns: number): string {
  if (widthOf(line) < columns) return line
  return `${[...stripVTControlCharacters(line)].slice(0, columns - 2).join('')}…`
}

/** Text from outside must not control the terminal. */
export function harmless(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '�')
}
