import { playbookCrashSuite } from './playbook.ts'

playbookCrashSuite('postgres')
