import { ojsCrashSuite } from './ojs.ts'

ojsCrashSuite('sqlite')
