/**
 * The program that node runs for a javascript task. Input and report are as in python-program.ts. The code is the body
 * of an async function in a script of its own, so that return and await may be used anywhere; the function around it
 * has the names of the input as parameters, so that the code may redeclare them. The values of `result` and `main` are
 * read at the end of the code. All of this is inside a function, too, because the code could see anything at top level
 * as its own.
 */
export const JAVASCRIPT_PROGRAM = String.raw`
(() => {
const fs = require('node:fs')
const net = require('node:net')
const vm = require('node:vm')
const path = require('node:path')
const { createRequire } = require('node:module')
const { types } = require('node:util')

const exit = process.exit.bind(process)
const given = JSON.parse(fs.readFileSync(0, 'utf8'))
const alive = new net.Socket({ fd: 4 })
alive.on('error', () => {}).on('close', () => process.kill(process.pid, 'SIGKILL'))
alive.resume()
alive.unref()

let reported = false
function report(text) {
  if (reported) return
  reported = true
  const bytes = Buffer.from(given.nonce + '\n' + text)
  for (let sent = 0; sent < bytes.length; ) {
    try {
      sent += fs.writeSync(3, bytes, sent)
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
  }
  exit(0)
}

let stage = 'code'
function reportError(error) {
  const is = types.isNativeError(error) || error instanceof Error
  const type = is ? String(error.name) : typeof error
  const bases = []
  for (let each = is ? Object.getPrototypeOf(error) : null; each; each = Object.getPrototypeOf(each)) {
    if (Object.hasOwn(each, 'name')) bases.push(String(each.name))
  }
  let message = ''
  try {
    message = is ? String(error.message) : String(error)
  } catch {}
  const traceback = is ? String(error.stack).slice(0, 4000) : ''
  const code = is && typeof error.code === 'string' ? error.code : typeof error?.cause?.code === 'string' ? error.cause.code : undefined
  report(JSON.stringify({ error: { type, bases: [type, ...bases], message: message.slice(0, 2000), traceback, stage, code } }))
}
process.on('uncaughtException', reportError)
process.on('unhandledRejection', reportError)

function written(value) {
  const text = JSON.stringify(value === undefined ? null : value, function (key, each) {
    if (typeof each === 'bigint') return String(each)
    const what =
      typeof each === 'number' && !Number.isFinite(each)
        ? String(each)
        : typeof each === 'function' || typeof each === 'symbol'
          ? 'a ' + typeof each
          : each instanceof Map || each instanceof Set || types.isPromise(each)
            ? 'a ' + each.constructor.name
            : null
    if (what !== null) throw new TypeError((key === '' ? 'it' : key) + ' is ' + what)
    return each
  })
  return text === undefined ? 'null' : text
}

const left = (result, main) => ({ left: true, result, main })
const names = { input: given.input, args: given.input, context: given.context, ...given.input }
const usable = Object.keys(names).filter((name) => {
  try {
    return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) && name !== '__left' && new Function(name, '') !== null
  } catch {
    return false
  }
})
globalThis.require = createRequire(path.resolve(given.file))

async function run() {
  const head = '(function (' + ['__left', ...usable].join(', ') + ') { return (async function () {\n'
  const tail = "\n;return __left(typeof result === 'undefined' ? undefined : result, typeof main === 'function' ? main : undefined)\n}).call(this) })"
  const script = new vm.Script(head + given.code + tail, {
    filename: given.file,
    lineOffset: -1,
    importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  const end = await script.runInThisContext().call(globalThis, left, ...usable.map((name) => names[name]))
  let value = end
  if (end !== null && typeof end === 'object' && end.left === true) {
    value = end.result
    if ((value === undefined || value === given.input.result) && end.main !== undefined) {
      stage = 'main'
      value = await end.main(given.input, given.context)
    }
  }
  stage = 'result'
  report('{"result": ' + written(value) + '}')
}
run().catch(reportError)
})()
`
