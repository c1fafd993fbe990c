import { completionsSuite } from './completions.ts'
import { contentionSuite } from './contention.ts'

completionsSuite('postgres')
contentionSuite('postgres')
