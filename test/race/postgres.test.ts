import { postgresUrl } from '../services.ts'
import { completionsSuite } from './completions.ts'
import { contentionSuite } from './contention.ts'

if (postgresUrl() !== null) {
  completionsSuite('postgres')
  contentionSuite('postgres')
}
