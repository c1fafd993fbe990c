import { completionsSuite } from './completions.ts'
import { contentionSuite } from './contention.ts'
import { fencingSuite } from './fencing.ts'

completionsSuite('sqlite')
contentionSuite('sqlite')
fencingSuite('sqlite')
