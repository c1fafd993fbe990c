/** What went in, what came out, and what is in between: as the server has it, with every digit. */
import { setQuery } from '../../browser/router.ts'
import { JsonText } from '../../ui/json/json.tsx'
import { membersOf } from '../../ui/json/json-members.ts'
import type { Shown } from './model.ts'

const PARTS: readonly { readonly name: string; readonly title: string; readonly none: string }[] = [
  { name: 'input', title: 'Input', none: 'It was started without an input.' },
  { name: 'context', title: 'Context', none: 'Nothing has been written into its context.' },
  { name: 'results', title: 'Results by step', none: 'No step has a result yet.' },
  { name: 'meta', title: 'Metadata', none: 'It was started without metadata.' },
]

const MOST_LISTED = 50

export function DataTab({ shown: { texts, view } }: { readonly shown: Shown }) {
  const omitted = omittedIn(texts.get('results') ?? 'null')
  return (
    <div class="stack">
      {PARTS.map(({ name, title, none }) => {
        const text = texts.get(name) ?? 'null'
        return (
          <section key={name} class="card">
            <h2>{title}</h2>
            {text === 'null' || text === '{}' ? (
              <p class="dim">{none}</p>
            ) : (
              <JsonText text={text} name={`${view.instance.id}.${name}.json`} label={title} />
            )}
            {name === 'results' && omitted.length > 0 && (
              <p>
                Stored separately, and shown complete with their steps:{' '}
                {omitted.slice(0, MOST_LISTED).map((step) => (
                  <button
                    key={step}
                    type="button"
                    class="link tag"
                    onClick={() => setQuery({ tab: 'steps', step, in: null })}
                  >
                    <bdi>{step.slice(0, 200)}</bdi>
                  </button>
                ))}
                {omitted.length > MOST_LISTED && ` and ${omitted.length - MOST_LISTED} more`}
              </p>
            )}
          </section>
        )
      })}
    </div>
  )
}

/** Steps whose results are too long for a view. */
function omittedIn(results: string): readonly string[] {
  return [...membersOf(results)].flatMap(([step, text]) => (text.startsWith('{"$omitted":') ? [step] : []))
}
