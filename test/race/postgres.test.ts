import { completionsSuite } from './completions.ts'
import { contentionSuite } from './contention.ts'
import { fencingSuite } from './fencing.ts'

completionsSuite('postgres')
contentionSuite('postgres')
fencingSuite('postgres')
