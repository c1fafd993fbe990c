/** The boundaries of the source. */

export const MOST_LINES_OF_A_FILE = 400
export const MOST_LINES_OF_A_FUNCTION = 70
export const MOST_FILES_OF_A_DIRECTORY = 20

interface Allowed {
  /** Directories, or single files of a directory, whose code it may use. */
  readonly values: readonly string[]
  /** Further directories whose types it may use. */
  readonly types: readonly string[]
}

/**
 * What each directory of src may import from the others. A file belongs to the directory with the longest matching name,
 * so `notations/ojs/http` has rules of its own beside those of `notations/ojs`.
 */
export const ALLOWED: Readonly<Record<string, Allowed>> = {
  // Shared by all: errors, limits, ids, hashes, formats of texts.
  kernel: { values: [], types: ['net'] },
  // The pure core: what happens next.
  net: { values: [], types: [] },
  expr: { values: [], types: ['net'] },
  // Runs, instances, events and the rest as domain types, and the queries that read them.
  model: { values: ['kernel', 'net'], types: [] },
  // Rows and SQL; decides nothing.
  store: { values: ['kernel', 'model', 'net/slots.ts', 'files.ts'], types: ['net'] },

  // The engine: when, and in which transaction. `fold` is pure (biome.json): what a report, a cancel or a deadline does to a
  // working set.
  'engine/fold': { values: ['kernel', 'net', 'expr', 'model'], types: [] },
  'engine/transaction': { values: ['kernel', 'net', 'expr', 'model', 'engine/fold'], types: ['store', 'worker'] },
  'engine/intake': {
    values: ['kernel', 'net', 'model', 'engine/fold', 'engine/transaction'],
    types: ['store'],
  },
  'engine/control': {
    values: ['kernel', 'net', 'model', 'engine/fold', 'engine/transaction', 'engine/intake'],
    types: ['store'],
  },
  'engine/workers': {
    values: ['kernel', 'net', 'model', 'engine/fold', 'engine/transaction'],
    types: ['store', 'worker'],
  },
  'engine/time': {
    values: ['kernel', 'net', 'model', 'engine/fold', 'engine/transaction', 'engine/intake', 'engine/control'],
    types: ['store'],
  },
  engine: {
    values: [
      'kernel',
      'net',
      'model',
      'views',
      'engine/fold',
      'engine/transaction',
      'engine/intake',
      'engine/control',
      'engine/workers',
      'engine/time',
    ],
    types: ['store', 'worker'],
  },
  // What a reader sees of an instance: steps, reasons for waiting, results.
  views: { values: ['kernel', 'net', 'model'], types: [] },

  // The JSON of /v1 and `--json`: the functions that produce it.
  wire: { values: ['kernel', 'net', 'model', 'views'], types: [] },

  // Execute work. The worker has the interface that the engine implements (port.ts); none of them knows the engine.
  worker: { values: ['kernel', 'net'], types: [] },
  tools: { values: ['kernel'], types: ['net'] },

  // Notations: text to net, and back to the notation's own words. Each directory is one notation.
  // Reading: texts, their mistakes, and the definition that comes of them: what a start needs, and the tools it may name.
  'notations/source': { values: ['kernel'], types: ['net', 'model', 'tools'] },
  // What every notation provides, and the defaults. Handlers of a dry run, and the shape of a result, are the worker's.
  'notations/interface': {
    values: ['net', 'views'],
    types: ['kernel', 'expr', 'model', 'worker', 'notations/source'],
  },
  // A notation that has no entry of its own.
  'notations/*': {
    values: ['kernel', 'net', 'expr', 'model', 'views', 'notations/source', 'notations/interface'],
    types: [],
  },
  'notations/ojs': {
    values: ['kernel', 'net', 'expr', 'model', 'views', 'notations/source', 'notations/interface'],
    types: ['worker'],
  },
  'notations/ojs/http': {
    values: ['kernel', 'net', 'model', 'operations', 'wire', 'http', 'notations/ojs'],
    // Replies read what projections read.
    types: ['notations/interface'],
  },
  'notations/ojs/webhooks': { values: ['kernel', 'model', 'notations/ojs'], types: ['notations/interface'] },
  'notations/playbook/vocabulary': { values: ['expr'], types: ['net'] },
  'notations/playbook/runtime': {
    values: ['kernel', 'net', 'expr', 'worker', 'tools', 'notations/playbook/vocabulary'],
    types: [],
  },
  'notations/playbook': {
    values: [
      'kernel',
      'net',
      'expr',
      'model',
      'views',
      'tools',
      'notations/source',
      'notations/interface',
      'notations/playbook/vocabulary',
      'notations/playbook/runtime',
    ],
    types: [],
  },
  'notations/saga': {
    values: ['kernel', 'net', 'expr', 'model', 'notations/source', 'notations/interface', 'notations/saga/runtime'],
    types: [],
  },
  'notations/saga/runtime': {
    values: ['kernel', 'net', 'expr', 'worker', 'notations/source'],
    types: ['notations/interface'],
  },
  'notations/saga/nats': {
    values: ['kernel', 'net', 'model', 'operations', 'wire', 'notations/saga/runtime'],
    types: ['engine'],
  },
  notations: {
    values: [
      'kernel',
      'net',
      'model',
      'notations/source',
      'notations/interface',
      'notations/net',
      'notations/dag',
      'notations/ojs',
      'notations/playbook',
      'notations/saga',
    ],
    types: ['expr', 'tools'],
  },

  // Use cases: they check tenant and scopes, and serve HTTP, CLI and NATS alike. The conditions of triggers are expressions,
  // evaluated where an event is published. What a notation projects has the types of the notations' interface.
  operations: {
    values: ['kernel', 'net', 'expr', 'model', 'engine', 'views', 'notations', 'notations/source'],
    types: ['notations/interface'],
  },

  // Adapters: connect the directories above and decide nothing. They show the mistakes of a definition, so they use
  // notations/source beside the table of notations.
  http: { values: ['kernel', 'net', 'model', 'operations', 'wire', 'notations/source'], types: [] },
  // Its builders write chains, groups, batches and sagas in code, and its workers run the steps of playbooks and sagas.
  client: {
    values: [
      'kernel',
      'net',
      'model',
      'engine',
      'store',
      'operations',
      'notations',
      'notations/source',
      'notations/ojs',
      'notations/playbook/runtime',
      'notations/saga',
      'notations/saga/runtime',
      'worker',
      'tools',
    ],
    // What its methods return.
    types: ['views', 'notations/playbook'],
  },
  server: {
    values: [
      'kernel',
      'net',
      'model',
      'operations',
      'wire',
      'views',
      'notations',
      'notations/source',
      'notations/interface',
      'http',
      'notations/ojs/http',
      'notations/ojs/webhooks',
      // Where the dashboard is.
      'files.ts',
    ],
    // server.ts is given an engine; routes only perform operations.
    types: ['engine'],
  },
  // A command that makes a worker configures the runtimes of playbooks and sagas: tools, secrets, NATS.
  cli: {
    values: [
      'kernel',
      'net',
      'model',
      'engine',
      'views',
      'operations',
      'wire',
      'notations',
      'notations/source',
      'notations/interface',
      'notations/playbook/runtime',
      'notations/saga/runtime',
      'notations/saga/nats',
      'client',
      'worker',
      'tools',
      'store',
      'server',
      'files.ts',
    ],
    types: [],
  },
}

/** Files at the root of src: public entry points, and the bundle for tests of killed processes. They may import anything. */
export const ROOTS: readonly string[] = ['index.ts', 'insides.ts', 'nats.ts', 'testing.ts', 'files.ts']

/** Directories that others may import only through these files. */
export const ENTRY_POINTS: Readonly<Record<string, readonly string[]>> = {
  expr: ['src/expr/index.ts'],
  'notations/playbook/vocabulary': ['src/notations/playbook/vocabulary/index.ts'],
  // To open one, its interface, and planning in a thread that opens none.
  engine: ['src/engine/engine.ts', 'src/engine/api.ts', 'src/engine/planning.ts'],
  // Of a process with the API, and of one that only has workers.
  server: ['src/server/server.ts', 'src/server/metrics/worker-metrics.ts'],
  // To open one; and its interface, for the engine.
  store: ['src/store/open.ts', 'src/store/store.ts', 'src/store/sweeps.ts'],
}

/** What only these files of a directory may import from another: they put the parts together. */
export const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  // Routes perform operations; the server creates them on its engine.
  'server → engine': ['src/server/server.ts'],
  // So do commands. `petrel run`, `petrel dev` and services contain an engine.
  'cli → engine': [
    'src/cli/process/connect.ts',
    'src/cli/process/nats.ts',
    'src/cli/process/service.ts',
    'src/cli/run/clock.ts',
    'src/cli/run/live.ts',
    'src/cli/run/mock.ts',
    'src/cli/run/reading.ts',
    'src/cli/run/services.ts',
  ],
}

/** A statement in a string. Services on NATS and tasks of playbooks use databases of their own. */
export const SQL = /[`'](?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|WITH [a-z_]+ AS) /
export const MAY_HOLD_SQL: readonly string[] = ['src/store/', 'src/notations/saga/nats/domain/', 'src/tools/sql/']

/** Code that depends on the notation belongs in the directory of that notation. */
export const NOTATION_CHECK = /\bdialect (?:===|!==) '|switch \([^)]*\bdialect\)/g
export const NOTATIONS = 'src/notations/'

/** What each directory of the dashboard may import from the others. */
export const DASHBOARD_LAYERS: Readonly<Record<string, readonly string[]>> = {
  // The address, the keyboard and the colours of the window.
  browser: [],
  // The server: its answers, changes, and who the user is.
  api: ['browser'],
  ui: ['browser', 'api'],
  graph: ['browser', 'api', 'ui'],
  timeline: ['browser', 'api', 'ui'],
  pages: ['browser', 'api', 'ui', 'graph', 'timeline'],
  // What surrounds the pages.
  app: ['browser', 'api', 'ui', 'pages'],
}

/** Code of src, besides types, that the dashboard may contain: pure, and without Node. */
export const DASHBOARD_USES: readonly string[] = [
  'src/http/describe/client.ts',
  'src/kernel/exact-numbers.ts',
  'src/model/search/fields.ts',
]
