import { describe, expect, it } from 'vitest'
import { EventStreamText } from './event-stream.ts'

describe('server-sent events', () => {
  const text = 'retry: 3000\n\n: heartbeat\n\nid: 4\nevent: leased\ndata: {"a": 1}\n\nevent: end\ndata: null\n\n'

  it('are read however the text is cut', () => {
    for (let size = 1; size <= text.length; size++) {
      const stream = new EventStreamText()
      const found = []
      for (let at = 0; at < text.length; at += size) found.push(...stream.push(text.slice(at, at + size)))
      expect(found).toEqual([
        { id: '4', type: 'leased', data: '{"a": 1}' },
        { id: '4', type: 'end', data: 'null' },
      ])
    }
  })

  it('may have several lines of data, and no space after the colon', () => {
    expect(new EventStreamText().push('data:a\ndata: b\n\n')).toEqual([{ id: '', type: 'message', data: 'a\nb' }])
  })
})
