import { dagCrashSuite } from './dag.ts'

dagCrashSuite('sqlite')
