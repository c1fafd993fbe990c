/** Subjects of commands: `{service}.v1.{resource}.{action}`. */

const TOKEN = /^[a-z0-9][a-z0-9_-]*$/
const VERSION = /^v[1-9][0-9]*$/
const LONGEST = 200
const HINT = '{service}.v1.{resource}.{action}, for example refdata.v1.parties.save'

export interface SubjectProblem {
  readonly message: string
  readonly hint: string
}

export function subjectProblem(subject: string): SubjectProblem | null {
  const wrong = (why: string): SubjectProblem => ({
    message: `'${subject.slice(0, 60)}' is not a subject: ${why}`,
    hint: HINT,
  })
  if (subject.length > LONGEST) return wrong(`it is longer than ${LONGEST} characters`)
  if (/[*>]/.test(subject)) return wrong('a command goes to one subject, without wildcards')
  const tokens = subject.split('.')
  if (tokens.length < 4) return wrong('it has fewer than four parts')
  if (!VERSION.test(tokens[1] as string)) return wrong(`its second part is the version, not '${tokens[1]}'`)
  const odd = tokens.find((token) => !TOKEN.test(token))
  if (odd !== undefined)
    return wrong(odd === '' ? 'a part is empty' : `'${odd}' is not of small letters, digits, - and _`)
  if (tokens[0] === 'workflow') return wrong('workflow.v1 is where the engine itself listens')
  return null
}
