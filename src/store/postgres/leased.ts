/**
 * A leased run, in exactly the form of the predicate of workflow_run_leased. The planner can use no other index for it:
 * with `status = 'leased'` it may choose that of all pending and leased runs if the statistics were collected at an
 * idle time.
 */
export const LEASED = "(r.status = 'leased') IS TRUE"
