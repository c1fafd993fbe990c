/** Features of Jinja2 or Python that this language does not have, and what to write instead. */
import type { Kind } from '../evaluate/callable.ts'

const NO_CHANGE = 'values are never changed'

const REFUSED: { readonly [kind in Kind]: { readonly [name: string]: string } } = {
  filter: {
    attr: 'only keys can be read: write `x.name` or `x[name]`',
    random: 'an evaluation gives the same value every time: draw in a step',
    pprint: 'use `| tojson(indent=2)`',
    forceescape: 'use `| escape`',
    striptags: 'work on HTML in a step',
    urlize: 'work on HTML in a step',
    xmlattr: 'work on HTML in a step',
    wordwrap: 'wrap text in a step',
  },
  test: {},
  function: {
    cycler: 'use an index and `%`',
    joiner: 'use `loop.first` or `| join`',
    lipsum: 'write the text out',
  },
  method: {
    append: `${NO_CHANGE}: use \`list + [item]\``,
    extend: `${NO_CHANGE}: use \`list + others\``,
    insert: `${NO_CHANGE}: put it together with \`+\` and slices`,
    remove: `${NO_CHANGE}: use \`| reject('eq', item)\``,
    pop: `${NO_CHANGE}: read the item with \`[…]\``,
    sort: `${NO_CHANGE}: use \`| sort\``,
    reverse: `${NO_CHANGE}: use \`| reverse\``,
    update: `${NO_CHANGE}: use \`dict(old, key=value)\``,
    setdefault: `${NO_CHANGE}: use \`dict(old, key=value)\``,
    clear: NO_CHANGE,
    format: 'use `%`, as in `"%s: %d" % (name, n)`, or `~`',
    format_map: 'use `%`, as in `"%(name)s" % {"name": name}`, or `~`',
    encode: 'there are no bytes: use `| b64encode`',
    cycle: 'use `loop.index0 % n`',
  },
}

export function whyRefused(kind: Kind, name: string): string | null {
  const reasons = REFUSED[kind]
  return Object.hasOwn(reasons, name) ? (reasons[name] ?? null) : null
}
