/**
 * A leased run, written as the predicate of workflow_run_leased is. The planner can use no other index for it: with
 * `status = 'leased'` it may choose that of all pending and leased runs if the statistics were taken at an idle moment.
 */
export const LEASED = "(r.status = 'leased') IS TRUE"
