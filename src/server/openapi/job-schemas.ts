/** Lists of jobs. */
import { list, object, ref } from './schema.ts'

export const JOB_SCHEMAS = {
  JobList: object({ jobs: list(ref('Job')), pagination: ref('Pagination') }, { required: ['jobs'] }),
}
