/** Lines of a log. */
import { elementsOf, memberAt, membersOf } from '../json/json-members.ts'

export interface LogLine {
  readonly attempt: number
  readonly number: number
  readonly at: string | null
  readonly level: string
  /** stdout, stderr; null: a line of the handler. */
  readonly stream: string | null
  readonly text: string
  /** As written. */
  readonly fields: string | null
}

type Known = Omit<LogLine, 'fields'>

/** `data`: of an event `lines`. */
export function linesIn(data: string): readonly LogLine[] {
  return elementsOf(memberAt(data, 'lines') ?? '[]').map((line) => {
    const { attempt, number, at, level, stream, text } = JSON.parse(line) as Known
    const fields = membersOf(line).get('fields') ?? 'null'
    return { attempt, number, at, level, stream, text, fields: fields === 'null' ? null : fields }
  })
}

/** How many lines of the same execution were not kept before this one. */
export function missingBefore({ attempt, number }: LogLine, before: LogLine | undefined): number {
  return before?.attempt === attempt ? Math.max(0, number - before.number - 1) : number
}

export function lineText({ at, attempt, level, stream, text, fields }: LogLine): string {
  return [at ?? '-', attempt, stream ?? level, text, ...(fields === null ? [] : [fields])].join('\t')
}
