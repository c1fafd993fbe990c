import { ojsCrashSuite } from './ojs.ts'

ojsCrashSuite('postgres')
