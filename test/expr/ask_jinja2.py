"""Real Jinja2, fed from standard input: {"scope": …, "sources": [{"kind": "value"|"text"|"native", "source": …}]}.

Answers for each source: {"value": tagged value}, {"text": …}, {"json": …, "printed": …} or {"error": class, "message": …}.
"""
import base64
import json
import sys
import types

import jinja2
import jinja2.nativetypes
import markupsafe

plain = jinja2.Environment(undefined=jinja2.ChainableUndefined)
native = jinja2.nativetypes.NativeEnvironment(undefined=jinja2.ChainableUndefined)
names = {"filters": sorted(plain.filters), "tests": sorted(plain.tests), "globals": sorted(plain.globals)}

# What Jinja2 does not have, as plain Python would have it.
for environment in (plain, native):
    environment.filters.update(
        b64encode=lambda text: base64.b64encode(str(text).encode()).decode(),
        b64decode=lambda text: base64.b64decode(str(text)).decode(),
        fromjson=json.loads,
        split=lambda text, sep=None, maxsplit=-1: str(text).split(sep, maxsplit),
        keys=lambda mapping: list(mapping.keys()),
        values=lambda mapping: list(mapping.values()),
        get=lambda mapping, key, default=None: mapping.get(key, default),
    )
    environment.globals.update(
        given=lambda **named: {k: v for k, v in named.items() if not isinstance(v, jinja2.Undefined)}
    )

VIEWS = (
    "dict_keys",
    "dict_values",
    "dict_items",
    "dict_reversekeyiterator",
    "list_reverseiterator",
    "reversed",
)


def is_listlike(value):
    return isinstance(value, (list, range, types.GeneratorType)) or type(value).__name__ in VIEWS


def tagged(value):
    if isinstance(value, jinja2.Undefined):
        return ["undefined"]
    if value is None:
        return ["none"]
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, int):
        return ["int", str(value)]
    if isinstance(value, float):
        return ["float", repr(value)]
    if isinstance(value, (str, markupsafe.Markup)):
        return ["str", str(value)]
    if isinstance(value, tuple):
        return ["tuple", *map(tagged, value)]
    if isinstance(value, dict):
        return ["dict", *([tagged(key), tagged(item)] for key, item in value.items())]
    if is_listlike(value):
        return ["list", *map(tagged, value)]
    return ["other", type(value).__name__]


def without_undefined(value):
    """What a value is once it leaves as JSON; json.dumps does the rest."""
    if isinstance(value, jinja2.Undefined):
        return None
    if isinstance(value, dict):
        return {key: without_undefined(item) for key, item in value.items()}
    if isinstance(value, tuple) or is_listlike(value):
        return [without_undefined(item) for item in value]
    return value


def answer(kind, source, scope):
    try:
        if kind == "value":
            return {"value": tagged(plain.compile_expression(source, undefined_to_none=False)(**scope))}
        if kind == "native":
            value = without_undefined(native.from_string(source).render(**scope))
            printed = plain.from_string(source).render(**scope)
            return {"json": json.loads(json.dumps(value, allow_nan=False)), "printed": printed}
        return {"text": plain.from_string(source).render(**scope)}
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)[:200]}


def main():
    asked = json.load(sys.stdin)
    scope = json.dumps(asked["scope"])
    answers = [answer(one["kind"], one["source"], json.loads(scope)) for one in asked["sources"]]
    json.dump({"version": jinja2.__version__, "names": names, "answers": answers}, sys.stdout)


main()
