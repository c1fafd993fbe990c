/**
 * Where we differ from Jinja2 (ChainableUndefined, no autoescape), and why. This is the only list: docs/expressions.md
 * shows the same, the examples are evaluated by both, and any difference not listed here fails the differential test.
 */
import type { Answer, Source } from './jinja2.ts'

export interface Difference {
  readonly what: string
  readonly why: string
  /** How the examples are evaluated. If absent: as text if they contain tags, otherwise as a value. */
  readonly kind?: Source['kind']
  /** The answers of both sides, as shown.ts writes them. */
  readonly examples: readonly { readonly source: string; readonly ours: string; readonly jinja2: string }[]
  /** Whether a difference found in another source is this one. If absent, only the examples are. */
  readonly explains?: (met: Met) => boolean
}

export interface Met extends Source {
  readonly ours: Answer
  readonly jinja2: Answer
}

const errorOf = (answer: Answer): string => ('error' in answer ? answer.error : '')
const messageOf = (answer: Answer): string => ('error' in answer ? answer.message : '')
const textOf = (answer: Answer): string => ('text' in answer ? answer.text : '')

const MARKUP = /Markup\(('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\)/g

export const differences: readonly Difference[] = [
  {
    what: 'a text stays a text',
    why: 'a whole-string template returns the value unchanged; NativeEnvironment parses every text it returns as a Python literal, so that "42" becomes 42',
    kind: 'native',
    examples: [
      { source: '{{ num }}', ours: '"42"', jinja2: '42' },
      { source: '{{ one }}{{ one }}', ours: '"11"', jinja2: '11' },
      { source: '{{ xs | tojson }}', ours: '"[3, 1, 2]"', jinja2: '[3,1,2]' },
      { source: "{{ 'None' }}", ours: '"None"', jinja2: 'null' },
    ],
    explains: ({ ours, jinja2 }) => 'json' in ours && 'json' in jinja2 && ours.json === jinja2.printed,
  },
  {
    what: 'integers beyond 2^53',
    why: 'JSON numbers are doubles here: an integer that cannot be represented exactly is an error where it is computed, and a float where it is read',
    examples: [
      { source: 'big + 1', ours: 'expr_value', jinja2: '9007199254740992' },
      { source: '12345678901234567890', ours: 'expr_value', jinja2: '12345678901234567890' },
      { source: '2 ** 64', ours: 'expr_value', jinja2: '18446744073709551616' },
      { source: "'12345678901234567890' | int", ours: 'expr_value', jinja2: '12345678901234567890' },
      { source: "'9007199254740993' | fromjson", ours: '9007199254740992.0', jinja2: '9007199254740993' },
    ],
    explains: ({ ours }) => errorOf(ours) === 'expr_value' && messageOf(ours).includes('beyond 2^53'),
  },
  {
    what: 'int and float of undefined values',
    why: 'they return their default, as they do for None and for texts that are not numbers',
    examples: [
      { source: 'missing | int', ours: '0', jinja2: 'UndefinedError' },
      { source: 'missing.x | int(7)', ours: '7', jinja2: 'UndefinedError' },
      { source: 'missing | float', ours: '0.0', jinja2: 'UndefinedError' },
    ],
    explains: ({ source, jinja2 }) => errorOf(jinja2) === 'UndefinedError' && /\|\s*(int|float)\b/.test(source),
  },
  {
    what: 'int of infinity and NaN',
    why: 'the default, as for everything else that is not a whole number; Jinja2 passes the exception on',
    examples: [{ source: '(huge * huge) | int(5)', ours: '5', jinja2: 'OverflowError' }],
    explains: ({ source, jinja2 }) => errorOf(jinja2) === 'OverflowError' && /\|\s*int\b/.test(source),
  },
  {
    what: 'infinite and NaN constants',
    why: 'Jinja2 folds constants into Python source, which has no literal for them; with data instead of constants both agree',
    examples: [
      { source: '1e400', ours: 'inf', jinja2: 'NameError' },
      { source: "'nan' | float", ours: 'nan', jinja2: 'NameError' },
      { source: '-1e308 * 10', ours: '-inf', jinja2: 'NameError' },
    ],
    explains: ({ jinja2 }) => errorOf(jinja2) === 'NameError' && /name '(inf|nan)'/.test(messageOf(jinja2)),
  },
  {
    what: 'digits of other scripts in int and float',
    why: 'only 0 to 9 are read as digits',
    examples: [{ source: "'１２' | int", ours: '0', jinja2: '12' }],
  },
  {
    what: 'tojson of values that Python cannot encode',
    why: 'undefined is null, and keys of several types are sorted as texts, so that a template does not fail on them',
    examples: [
      { source: 'missing | tojson', ours: 'null', jinja2: 'TypeError' },
      { source: "{1: 'a', 'b': 2} | tojson", ours: '{"1": "a", "b": 2}', jinja2: 'TypeError' },
    ],
    explains: ({ source, jinja2 }) =>
      errorOf(jinja2) === 'TypeError' &&
      /\|\s*tojson\b/.test(source) &&
      /not JSON serializable|'<' not supported between|keys must be/.test(messageOf(jinja2)),
  },
  {
    what: 'infinity and NaN in tojson',
    why: 'JSON has neither; Python writes names that no JSON parser accepts',
    examples: [{ source: '(huge * huge) | tojson', ours: 'expr_value', jinja2: 'Infinity' }],
    explains: ({ ours }) => errorOf(ours) === 'expr_value' && messageOf(ours).includes('cannot be written as JSON'),
  },
  {
    what: 'keys before methods',
    why: '`d.items` is the key; `d.items()` calls the method. Jinja2 looks for a Python attribute first',
    examples: [
      { source: 'd.items', ours: 'key', jinja2: 'builtin_function_or_method' },
      { source: 'd.keys', ours: 'undefined', jinja2: 'builtin_function_or_method' },
      { source: "'a'.upper", ours: 'undefined', jinja2: 'builtin_function_or_method' },
    ],
  },
  {
    what: 'attributes of Python objects',
    why: 'only keys of data can be read, so an expression cannot leave its data',
    examples: [
      { source: "''.__class__", ours: 'undefined', jinja2: 'type' },
      { source: 'one.real', ours: 'undefined', jinja2: '1' },
      { source: "d['__class__']", ours: 'undefined', jinja2: 'type' },
    ],
  },
  {
    what: 'functions are not values',
    why: 'they can only be called',
    examples: [
      { source: 'range is callable', ours: 'False', jinja2: 'True' },
      { source: 'range is defined', ours: 'False', jinja2: 'True' },
      { source: '{{ self }}', ours: '', jinja2: '<TemplateReference None>' },
    ],
  },
  {
    what: 'lazy filters return lists',
    why: 'there are no generators: map, select, reverse and the like return lists, which print and index as lists',
    examples: [{ source: "{{ xs | map('string') }}", ours: "['3', '1', '2']", jinja2: '<generator object …>' }],
    explains: ({ jinja2 }) =>
      /<(generator|list_reverseiterator|reversed|dict_reverse\w+|range_iterator)/.test(textOf(jinja2)) ||
      /'(generator|list_reverseiterator|reversed|dict_reversekeyiterator)'/.test(messageOf(jinja2)),
  },
  {
    what: 'no Markup',
    why: 'escape, safe and tojson return plain texts: nothing is escaped implicitly, and nothing prints as Markup(…)',
    examples: [
      { source: "('<' | escape) + '<'", ours: '&lt;<', jinja2: '&lt;&lt;' },
      { source: "'<' | escape | escape", ours: '&amp;lt;', jinja2: '&lt;' },
      { source: "{{ ['<' | escape] }}", ours: "['&lt;']", jinja2: "[Markup('&lt;')]" },
      { source: "'<' | escape is escaped", ours: 'False', jinja2: 'True' },
    ],
    explains: ({ ours, jinja2 }) =>
      textOf(jinja2).includes('Markup(') && textOf(jinja2).replace(MARKUP, '$1') === textOf(ours),
  },
  {
    what: 'a large amount of work',
    why: 'an evaluation has a budget of steps and bytes',
    examples: [
      { source: "('ab' * 1000000) | length", ours: 'expr_budget', jinja2: '2000000' },
      { source: 'range(200000) | length', ours: 'expr_budget', jinja2: '200000' },
    ],
    explains: ({ ours }) => errorOf(ours) === 'expr_budget',
  },
  {
    what: 'statements',
    why: 'if, for, set and raw; a template cannot define, include or inherit others',
    examples: [
      { source: '{% macro m() %}{% endmacro %}x', ours: 'expr_syntax', jinja2: 'x' },
      { source: '{% with a = 1 %}{{ a }}{% endwith %}', ours: 'expr_syntax', jinja2: '1' },
      { source: '{% filter upper %}a{% endfilter %}', ours: 'expr_syntax', jinja2: 'A' },
      { source: '{% for x in xs recursive %}{{ x }}{% endfor %}', ours: 'expr_syntax', jinja2: '312' },
      { source: '{% set loop = 5 %}{{ loop }}', ours: 'expr_syntax', jinja2: '5' },
      { source: "{% for x in xs %}{{ loop.cycle('a', 'b') }}{% endfor %}", ours: 'expr_unknown_method', jinja2: 'aba' },
    ],
  },
  {
    what: 'filters that are not offered',
    why: 'attr reads Python attributes, random is not deterministic, and the others work on HTML or only format text',
    examples: [
      { source: "d | attr('a')", ours: 'expr_unknown_filter', jinja2: 'undefined' },
      { source: '[1] | random', ours: 'expr_unknown_filter', jinja2: '1' },
      { source: '[1] | pprint', ours: 'expr_unknown_filter', jinja2: '[1]' },
      { source: "'<' | forceescape", ours: 'expr_unknown_filter', jinja2: '&lt;' },
      { source: "'<b>a</b>' | striptags", ours: 'expr_unknown_filter', jinja2: 'a' },
      { source: "'a' | urlize", ours: 'expr_unknown_filter', jinja2: 'a' },
      { source: "{'a': 1} | xmlattr", ours: 'expr_unknown_filter', jinja2: ' a="1"' },
      { source: "'a b' | wordwrap(1)", ours: 'expr_unknown_filter', jinja2: 'a\nb' },
    ],
  },
  {
    what: 'functions that are not offered',
    why: 'they keep state between calls or make filler text',
    examples: [
      { source: "cycler('a', 'b').next()", ours: 'expr_unknown_method', jinja2: 'a' },
      { source: 'joiner() is defined', ours: 'expr_unknown_function', jinja2: 'True' },
      { source: 'lipsum(n=0)', ours: 'expr_unknown_function', jinja2: '' },
    ],
  },
  {
    what: 'methods that are not offered',
    why: 'those that change a value, take format strings, or are rare',
    examples: [
      { source: '[1].append(2)', ours: 'expr_unknown_method', jinja2: 'None' },
      { source: "'{0}'.format(1)", ours: 'expr_unknown_method', jinja2: '1' },
      { source: "{'a': 1}.copy()", ours: 'expr_unknown_method', jinja2: "{'a': 1}" },
      { source: "'a'.isidentifier()", ours: 'expr_unknown_method', jinja2: 'True' },
    ],
  },
  {
    what: 'namespace prints as a dict',
    why: 'it is one, except for {% set ns.name = … %}',
    examples: [{ source: '{{ namespace(a=1) }}', ours: "{'a': 1}", jinja2: "<Namespace {'a': 1}>" }],
  },
  {
    what: 'a tuple without parentheses as an expression',
    why: 'Jinja2 accepts it only inside tags, Petrel everywhere',
    examples: [{ source: '1, 2', ours: '(1, 2)', jinja2: 'TemplateSyntaxError' }],
  },
  {
    what: 'wrong arguments are found at compile time',
    why: 'even in code that would never be evaluated: a mistake appears when the definition is deployed, not when the branch is first taken',
    examples: [
      { source: 'true or (1 is gt)', ours: 'expr_arguments', jinja2: 'True' },
      { source: "true or ('a' | replace)", ours: 'expr_arguments', jinja2: 'True' },
    ],
  },
  {
    what: 'characters by name',
    why: 'the table of their names is large; \\u and \\U do the same',
    examples: [{ source: "'\\N{EM DASH}' | length", ours: '11', jinja2: '1' }],
  },
]
