/** Reads server-sent events from text that arrives in pieces. */

export interface StreamEvent {
  readonly id: string
  readonly type: string
  readonly data: string
}

export class EventStreamText {
  #rest = ''
  #id = ''

  /** The events that are complete with this piece. */
  push(piece: string): readonly StreamEvent[] {
    const blocks = (this.#rest + piece).replaceAll('\r\n', '\n').split('\n\n')
    this.#rest = blocks.pop() as string
    return blocks.flatMap((block) => this.#eventIn(block))
  }

  #eventIn(block: string): readonly StreamEvent[] {
    let type = 'message'
    const data: string[] = []
    for (const line of block.split('\n')) {
      const colon = line.indexOf(':')
      if (colon <= 0) continue
      const name = line.slice(0, colon)
      const value = line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
      if (name === 'id') this.#id = value
      else if (name === 'event') type = value
      else if (name === 'data') data.push(value)
    }
    return data.length === 0 ? [] : [{ id: this.#id, type, data: data.join('\n') }]
  }
}
