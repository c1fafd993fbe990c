/**
 * The program that python3 runs. Its input is JSON on stdin: { nonce, code, file, input, context, libs }. Its report
 * goes to descriptor 3 as the nonce, a line break and JSON: { result } or { error: { type, bases, message, traceback,
 * stage } }.
 *
 * Descriptor 3 is moved away before the code runs, so that prints and stray writes cannot reach it, and only the
 * process that was started reports, not one it forked. Descriptor 4 closes when the worker is gone; the kernel signals
 * that (where it can) with SIGIO, which ends a process that does not handle it.
 */
export const PYTHON_PROGRAM = String.raw`
import os, sys, json

def petrel():
    out = os.dup(3)
    os.close(3)
    try:
        import fcntl
        fcntl.fcntl(4, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(4, fcntl.F_SETFL, fcntl.fcntl(4, fcntl.F_GETFL) | os.O_ASYNC)
    except Exception:
        pass
    given = json.loads(sys.stdin.buffer.read())
    nonce, starter, stage = given['nonce'], os.getpid(), 'code'

    def report(text):
        if os.getpid() != starter:
            os._exit(0)
        data = (nonce + '\n' + text).encode('utf-8')
        while data:
            data = data[os.write(out, data):]
        os.close(out)

    def report_error(error):
        import traceback
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename != given['file']:
            frames = frames.tb_next
        lines = traceback.format_exception(type(error), error, frames)
        try:
            message = str(error)
        except Exception:
            message = 'it cannot be printed'
        about = {'type': type(error).__name__, 'bases': [each.__name__ for each in type(error).__mro__],
                 'message': message[:2000], 'traceback': ''.join(lines)[-4000:], 'stage': stage}
        if isinstance(error, SystemExit):
            about['exit'] = repr(error.code)[:200]
        report(json.dumps({'error': about}))

    import types
    module = types.ModuleType('task')
    module.__file__ = given['file']
    sys.modules['task'] = module
    names = module.__dict__
    code, args = given['code'], given['input']
    names.update(os=os, json=json, context=given['context'], args=args, input_data=args)
    for name in ('datetime', 'uuid'):
        if name in code:
            names[name] = __import__(name)
    names.update(args)
    before = names.get('result')

    def load(libs):
        import importlib
        if isinstance(libs, list):
            libs = {str(each).split('.')[0]: str(each) for each in libs}
        for alias, what in libs.items():
            if isinstance(what, str):
                whole = importlib.import_module(what)
                names[alias] = importlib.import_module(what.split('.')[0]) if alias == what.split('.')[0] else whole
            else:
                base = importlib.import_module(what['from'])
                try:
                    names[alias] = getattr(base, what['import'])
                except AttributeError:
                    names[alias] = importlib.import_module(what['from'] + '.' + what['import'])

    def compiled():
        try:
            return compile(code, given['file'], 'exec'), None
        except SyntaxError as error:
            wrapped = wrap()
            if wrapped is None:
                raise error
            return wrapped, '__petrel_task__'

    # Code with a return or an await outside of any function becomes the body of one; the names it binds stay global.
    def wrap():
        import ast
        tree = ast.parse(code, given['file'])
        bound, found = set(), set()
        def walk(node):
            for each in ast.iter_child_nodes(node):
                if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    bound.add(each.name)
                    for outside in each.decorator_list:
                        walk(outside)
                    continue
                if isinstance(each, ast.Lambda):
                    continue
                if isinstance(each, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                    for inside in ast.walk(each):
                        if isinstance(inside, ast.NamedExpr):
                            bound.add(inside.target.id)
                        elif isinstance(inside, ast.Await):
                            found.add('await')
                    continue
                if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
                    bound.add(each.id)
                elif isinstance(each, ast.alias):
                    bound.add((each.asname or each.name).split('.')[0])
                elif isinstance(each, ast.ExceptHandler) and each.name:
                    bound.add(each.name)
                elif isinstance(each, ast.Return):
                    found.add('return')
                elif isinstance(each, (ast.Await, ast.AsyncFor, ast.AsyncWith)):
                    found.add('await')
                elif type(each).__name__ in ('MatchAs', 'MatchStar', 'MatchMapping'):
                    name = getattr(each, 'name', None) or getattr(each, 'rest', None)
                    if name:
                        bound.add(name)
                walk(each)
        walk(tree)
        if not found:
            return None
        shape = ast.parse(('async ' if 'await' in found else '') + 'def __petrel_task__(): pass')
        body = [each for each in tree.body if not isinstance(each, ast.Global)]
        head = [ast.Global(names=sorted(bound - {'*'}))] if bound - {'*'} else []
        shape.body[0].body = head + (body or [ast.Pass()])
        return compile(ast.fix_missing_locations(shape), given['file'], 'exec')

    def awaited(value):
        import inspect
        if not inspect.iscoroutine(value):
            return value
        import asyncio
        return asyncio.run(value)

    def call(main):
        import inspect
        whole = {'input_data': args, 'args': args, 'input': args, 'context': given['context']}
        try:
            parameters = list(inspect.signature(main).parameters.values())
        except (TypeError, ValueError):
            return awaited(main())
        if any(each.kind is each.VAR_KEYWORD for each in parameters):
            return awaited(main(**args))
        positional, named, missing = [], {}, []
        for each in parameters:
            if each.kind is each.VAR_POSITIONAL:
                continue
            if each.name in args or each.name in whole:
                value = args[each.name] if each.name in args else whole[each.name]
                if each.kind is each.POSITIONAL_ONLY:
                    positional.append(value)
                else:
                    named[each.name] = value
            elif each.default is each.empty:
                missing.append(each)
        if len(missing) == 1 and len([each for each in parameters if each.default is each.empty]) == 1 and not positional:
            if missing[0].kind is missing[0].KEYWORD_ONLY:
                named[missing[0].name] = args
                return awaited(main(**named))
            if missing[0] is parameters[0]:
                return awaited(main(args, **named))
        return awaited(main(*positional, **named))

    def plain(value):
        if isinstance(value, bool) or not isinstance(value, (int, dict, list, tuple)):
            return value
        if isinstance(value, int):
            return str(int(value)) if abs(value) > 9007199254740991 else value
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items()}
        return [plain(each) for each in value]

    def written(value):
        text = json.dumps(value, default=str, allow_nan=False, ensure_ascii=False)
        import re
        # Whole numbers that JSON readers would round become text.
        if re.search(r'\d{16}', text):
            text = json.dumps(plain(value), default=str, allow_nan=False, ensure_ascii=False)
        text.encode('utf-8')
        return text

    try:
        import linecache
        linecache.cache[given['file']] = (len(code), None, code.splitlines(True), given['file'])
        if given['libs']:
            stage = 'libs'
            load(given['libs'])
        stage = 'code'
        program, function = compiled()
        exec(program, names)
        value = awaited(names[function]()) if function else None
        if value is None:
            value = names.get('result')
            main = names.get('main')
            if (value is None or value is before) and callable(main) and 'main' not in args:
                stage = 'main'
                value = call(main)
        stage = 'result'
        text = written(value)
    except BaseException as error:
        report_error(error)
        return
    report('{"result": ' + text + '}')

petrel()
`
