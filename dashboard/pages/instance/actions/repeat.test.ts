import { describe, expect, it } from 'vitest'
import { bodyOf, commandOf, type RepeatForm } from './repeat.ts'

const FORM: RepeatForm = { step: '', firing: '', item: '', edit: 'none', args: '', input: '', startKey: '' }

describe('a retry', () => {
  it('without a step has neither a place nor arguments', () => {
    expect(bodyOf({ ...FORM, edit: 'args', args: '{}' })).toEqual({})
    expect(commandOf('retry', 'ID', { ...FORM, edit: 'args', args: '{}' })).toBe('petrel retry ID')
  })

  it('names the place and what is different', () => {
    const form: RepeatForm = {
      step: "ship it's",
      firing: '2',
      item: '0',
      edit: 'patch',
      args: '{"a": null}',
      input: '7',
      startKey: 'k 1',
    }
    expect(bodyOf(form)).toEqual({
      from: { step: "ship it's", firing: 2, item: 0 },
      args_patch: { a: null },
      input: 7,
      start_key: 'k 1',
    })
    expect(commandOf('fork', 'ID', form)).toBe(
      `petrel fork ID --from 'ship it'\\''s#2/0' --patch '{"a": null}' --input 7 --key 'k 1'`,
    )
  })

  it('with JSON that is not valid is none', () => {
    expect(() => bodyOf({ ...FORM, step: 'a', edit: 'args', args: '{' })).toThrow(SyntaxError)
  })
})
