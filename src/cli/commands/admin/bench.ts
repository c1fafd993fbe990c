import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { packageFile } from '../../../files.ts'
import { act, type Shared } from '../../terminal/act.ts'
import { CliError, EXIT } from '../../terminal/failure.ts'

export function defineBench(program: Command): void {
  program
    .command('bench')
    .description('measure this machine (in a checkout); arguments go to bench/run.mjs')
    .argument('[arguments...]')
    .allowUnknownOption()
    .option('--json', 'print JSON instead of text')
    .action(
      act<Shared, readonly [readonly string[]]>((terminal, _, given) => {
        const script = fileURLToPath(packageFile('bench/run.mjs'))
        if (!existsSync(script)) {
          throw new CliError(
            'not_found',
            'the benchmarks are not part of this installation',
            'run `petrel bench` in a checkout of the project',
          )
        }
        const child = spawn(process.execPath, [script, ...given, ...(terminal.json ? ['--json'] : [])], {
          stdio: 'inherit',
        })
        return new Promise((resolve, reject) => {
          child.once('error', reject)
          child.once('exit', (code) => resolve(code ?? EXIT.failed))
        })
      }),
    )
}
