/** The boundaries of the source. `exceptions.json` lists the code that does not respect them yet. */

export const MOST_LINES_OF_A_FILE = 400
export const MOST_LINES_OF_A_FUNCTION = 70
export const MOST_FILES_OF_A_DIRECTORY = 20

interface Allowed {
  /** Directories whose code it may use. */
  readonly values: readonly string[]
  /** Further directories whose types it may use. */
  readonly types: readonly string[]
}

/** What each directory of src may import from the others. */
export const ALLOWED: Readonly<Record<string, Allowed>> = {
  // Shared by all: errors, limits, ids, formats of texts. Depends on nothing but the types of values.
  kernel: { values: [], types: ['net'] },
  // The pure core: what happens next.
  net: { values: [], types: [] },
  expr: { values: [], types: ['net'] },
  // Rows and SQL; decides nothing.
  store: { values: ['kernel', 'files.ts'], types: ['net'] },
  // When, and in which transaction.
  engine: { values: ['kernel', 'net', 'expr', 'store'], types: ['worker'] },
  // Execute work. The worker has the interface that the engine implements (port.ts); none of them knows the engine.
  worker: { values: ['kernel', 'net'], types: [] },
  tools: { values: ['kernel'], types: ['net'] },
  pipeline: { values: ['kernel', 'net', 'expr', 'worker', 'tools'], types: [] },
  // Notations: text to net, and back to the notation's own words.
  dialects: { values: ['kernel', 'net', 'expr'], types: [] },
  definitions: { values: ['kernel', 'net', 'engine', 'dialects'], types: [] },
  // Adapters: connect the directories above and decide nothing.
  webhooks: { values: ['kernel', 'engine'], types: [] },
  client: { values: ['kernel', 'net', 'engine', 'definitions', 'dialects', 'worker', 'pipeline', 'tools'], types: [] },
  nats: { values: ['kernel', 'net', 'engine', 'definitions', 'dialects'], types: [] },
  server: { values: ['kernel', 'net', 'engine', 'definitions', 'dialects', 'webhooks'], types: [] },
  cli: {
    values: [
      'kernel',
      'net',
      'engine',
      'definitions',
      'dialects',
      'client',
      'worker',
      'pipeline',
      'tools',
      'server',
      'nats',
      'files.ts',
    ],
    types: [],
  },
}

/** Files at the root of src: public entry points, and the bundle for tests of killed processes. They may import anything. */
export const ROOTS: readonly string[] = ['index.ts', 'insides.ts', 'files.ts']

/** Directories that others may import only through these files. */
export const ENTRY_POINTS: Readonly<Record<string, readonly string[]>> = {
  expr: ['src/expr/index.ts', 'src/expr/playbook/index.ts'],
  server: ['src/server/server.ts'],
}

/** A statement in a string. Services on NATS and tasks of playbooks use databases of their own. */
export const SQL = /[`'](?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|WITH [a-z_]+ AS) /
export const MAY_HOLD_SQL: readonly string[] = ['src/store/', 'src/nats/domain/', 'src/tools/sql/']

/** Code that depends on the notation belongs in the directory of that notation. */
export const NOTATION_CHECK = /\bdialect (?:===|!==) '|switch \([^)]*\bdialect\)/g
export const NOTATIONS = 'src/dialects/'
