import { sagaCrashSuite } from './saga.ts'

sagaCrashSuite('postgres')
