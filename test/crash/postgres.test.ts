import { crashSuite } from './suite.ts'

crashSuite('postgres')
