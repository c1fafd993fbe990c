/** Limits that more than one directory enforces. A limit that only one place knows is defined there. */

const MIB = 1024 * 1024

/** Nesting of a JSON value. The triggers of both stores enforce this limit and the next for plain SQL. */
export const MAX_JSON_DEPTH = 200
/** One JSON value, unless an engine is opened with `maxPayloadBytes`. */
export const MAX_JSON_BYTES = MIB

/** The text of a definition. It is written or reviewed by people; anything larger is data and belongs in the input. */
export const MAX_DEFINITION_BYTES = 16 * MIB
/** Workflows nested in workflows, including the outermost. */
export const MAX_NESTING = 10

/** Types and queues, as the stores accept them. */
export const MAX_TYPE_LENGTH = 255
export const MAX_IDEMPOTENCY_KEY_LENGTH = 512
/** Attempts that an inbox run may ask for. */
export const MAX_INBOX_ATTEMPTS = 1000

/** The build that a worker states, in characters. */
export const MAX_BUILD_LENGTH = 200

/** Outcomes or starts in one transaction, and payloads in one answer to a claim. */
export const MAX_BATCH_BYTES = 8 * MIB

/** Where many errors or reasons are shown, each is cut to this length. */
export const MAX_SHOWN_CHARACTERS = 10_000
/** A total larger than this is reported as "more than", since counting reads every row. */
export const MAX_COUNTED = 10_000
/** Mistakes listed in one error. */
export const MAX_LISTED_MISTAKES = 100
/** Suggestions per file. Each one compares a name with every other name. */
export const MAX_SUGGESTIONS = 20

/** Items per minute of a bulk operation. */
export const MAX_BULK_RATE = 60_000
/** Why a bulk operation was ordered, in characters. */
export const MAX_REASON_LENGTH = 1_000

/** The longest delay of a run that continues later: a year and a day. Longer waits belong in a schedule. */
export const MAX_LATER_MS = 366 * 86_400_000

/** setTimeout fires immediately for a longer delay. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** The text of a query for instances or runs, its filters, and the values of one filter. */
export const MAX_QUERY_LENGTH = 2_000
export const MAX_QUERY_FILTERS = 20
export const MAX_QUERY_VALUES = 20
/** Rows that one page of a query checks. It continues where the page before stopped, so that nothing is missed. */
export const MAX_SEARCHED = 10_000

/** Tags of a definition, of a start or of a run, and characters of each. */
export const MAX_TAGS = 20
/** Characters of a value that queries find; longer ones are stored, but not found. */
export const MAX_TERM_LENGTH = 200
/** Failures of an instance by which queries find the instance. Its runs are found by all of them. */
export const MAX_FAILURES_FOUND = 100
/** Members of the metadata that queries find, and of the input: the first ones with a text, a number, true or false. */
export const MAX_TERM_MEMBERS = 16

/** Why a schedule did not fire, in its history. */
export const MAX_REASON_CHARACTERS = 1_000
/** Times in one preview of a schedule. */
export const MAX_NEXT_FIRES = 100

/** Characters of a key between which a queue is shared; runs that a key gives in one turn; keys of a queue with a weight. */
export const MAX_FAIR_KEY_LENGTH = 255
export const MAX_FAIR_WEIGHT = 100
export const MAX_FAIR_WEIGHTS = 1_000

/** How long a debounced start may wait for others: a week. */
export const MAX_DEBOUNCE_SECONDS = 7 * 86_400
