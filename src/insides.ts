/**
 * What the tests of killed processes and the benchmarks reach for in a build, beside what the package offers. It is built with
 * the rest, so that they meet the very classes that `petrel` runs; nobody can import it from the package.
 */

export { engineOf } from './client/engine-of.ts'
export { petrelOn } from './client/petrel.ts'
export { Engine } from './engine/engine.ts'
export { newRun } from './engine/fold/run/runs.ts'
export { compileExpression, compileTemplate, ExprError, render, truthy } from './expr/index.ts'
export { newId } from './kernel/ids.ts'
export { parseInstanceSearch, parseRunSearch } from './model/search/parse.ts'
export { makeStepHandler } from './notations/playbook/runtime/handler.ts'
export { STEP_TYPE } from './notations/playbook/runtime/program.ts'
export { playbookVocabulary } from './notations/playbook/vocabulary/index.ts'
export { VOCABULARIES } from './notations/vocabularies.ts'
export { Catalog } from './operations/definitions/catalog.ts'
export { Events } from './operations/definitions/events.ts'
export { readDefinition } from './operations/definitions/read.ts'
export { startServer } from './server/server.ts'
export { openStore } from './store/open.ts'
export { binaryArray } from './store/postgres/connection/array.ts'
export { openDatabase } from './store/sqlite/driver.ts'
export { Tools } from './tools/tools.ts'
export { Handlers } from './worker/handlers.ts'
export { Worker } from './worker/worker.ts'
