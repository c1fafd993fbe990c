import { postgresUrl } from '../services.ts'
import { crashSuite } from './suite.ts'

if (postgresUrl() !== null) crashSuite('postgres')
