/** A retry or a fork as it is filled in: its request and its command. */
import { exactJson } from '../../../ui/json/exact-json.ts'
import { quoted } from '../../../ui/shell.ts'

export type Verb = 'retry' | 'fork'

export interface RepeatForm {
  /** '': from where it failed; of a fork from the beginning. */
  readonly step: string
  /** Counted from 1; '': the last. */
  readonly firing: string
  /** Counted from 0; '': all. */
  readonly item: string
  readonly edit: 'none' | 'args' | 'patch'
  readonly args: string
  /** '': the same. */
  readonly input: string
  readonly startKey: string
}

export interface RepeatBody {
  readonly from?: { readonly step: string; readonly firing?: number; readonly item?: number }
  readonly args?: unknown
  readonly args_patch?: unknown
  readonly input?: unknown
  readonly start_key?: string
}

/** Throws if a field has JSON that is not valid. */
export function bodyOf({ step, firing, item, edit, args, input, startKey }: RepeatForm): RepeatBody {
  const from = {
    step,
    ...(firing === '' ? {} : { firing: Number(firing) }),
    ...(item === '' ? {} : { item: Number(item) }),
  }
  const edits = step !== '' && edit !== 'none'
  return {
    ...(step === '' ? {} : { from }),
    ...(edits ? { [edit === 'args' ? 'args' : 'args_patch']: exactJson(args) } : {}),
    ...(input.trim() === '' ? {} : { input: exactJson(input) }),
    ...(startKey === '' ? {} : { start_key: startKey }),
  }
}

export function commandOf(verb: Verb, id: string, form: RepeatForm): string {
  const { step, firing, item, edit, args, input, startKey } = form
  const place = `${step}${firing === '' ? '' : `#${firing}`}${item === '' ? '' : `/${item}`}`
  return [
    `petrel ${verb} ${id}`,
    ...(step === '' ? [] : [`--from ${quoted(place)}`]),
    ...(step === '' || edit === 'none' ? [] : [`--${edit} ${quoted(args)}`]),
    ...(input.trim() === '' ? [] : [`--input ${quoted(input)}`]),
    ...(startKey === '' ? [] : [`--key ${quoted(startKey)}`]),
  ].join(' ')
}
