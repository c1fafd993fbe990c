import { playbookCrashSuite } from './playbook.ts'

playbookCrashSuite('sqlite')
