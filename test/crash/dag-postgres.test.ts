import { dagCrashSuite } from './dag.ts'

dagCrashSuite('postgres')
