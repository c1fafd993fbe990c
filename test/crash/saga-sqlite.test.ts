import { sagaCrashSuite } from './saga.ts'

sagaCrashSuite('sqlite')
