import type { Command } from 'commander'
import { projectionOf } from '../../../notations/notations.ts'
import type { Definition } from '../../../notations/source/definition.ts'
import { DefinitionError } from '../../../notations/source/mistakes.ts'
import { deployedDefinitions } from '../../../operations/definitions/definitions.ts'
import { count } from '../../../views/words.ts'
import { withOperations } from '../../process/connect.ts'
import { act, jsonOption, type Shared } from '../../terminal/act.ts'
import { EXIT, problemLines } from '../../terminal/failure.ts'
import { type FileOptions, readDefinitionFile } from '../../terminal/file.ts'
import type { Terminal } from '../../terminal/terminal.ts'

export function defineCheck(program: Command): void {
  const command = program
    .command('check')
    .argument('<file...>', 'definitions (YAML or JSON)')
    .description('validate definitions; problems are printed as FILE:LINE:COLUMN')
    .option('--strict', 'warnings are problems')
    .option('--store <url>', 'definitions missing beside the file are searched for among those deployed there')
  jsonOption(command).action(act<CheckOptions, readonly [readonly string[]]>(check))
}

interface CheckOptions extends Shared {
  readonly strict?: boolean
}

async function check(terminal: Terminal, options: CheckOptions, files: readonly string[]): Promise<number> {
  if (options.store === undefined) return checkFiles(terminal, options, files, {})
  return withOperations(options, async (perform) =>
    checkFiles(terminal, options, files, { deployed: await perform(deployedDefinitions, null) }),
  )
}

async function checkFiles(
  terminal: Terminal,
  options: CheckOptions,
  files: readonly string[],
  how: FileOptions,
): Promise<number> {
  const { namesOf } = await import('../../run/names.ts')
  const answers: object[] = []
  let wrong = 0
  for (const file of files) {
    try {
      const definition = await readDefinitionFile(file, how)
      if (options.strict === true) refuseWarnings(file, definition)
      const warnings = definition.warnings ?? []
      const { nodes, types, uses } = namesOf(definition)
      const [[use, used] = ['types', types] as const] = uses
      const made = `${count(nodes.size, projectionOf(definition).terms.node)}, ${use} ${[...used].join(', ') || 'none'}`
      answers.push({
        file,
        valid: true,
        dialect: definition.dialect,
        name: definition.name,
        types: [...types],
        ...Object.fromEntries([...uses].map(([name, of]) => [name, [...of]])),
        problems: [],
        warnings,
      })
      terminal.print(
        `${file}: ${terminal.paint('green', 'valid')}, ${definition.dialect} '${definition.name}', ${made}${warnings.length === 0 ? '' : `, ${count(warnings.length, 'warning')}`}`,
      )
      for (const line of problemLines({ file, problems: warnings }, `${terminal.paint('yellow', 'warning')}: `))
        terminal.print(line)
    } catch (error) {
      if (!(error instanceof DefinitionError)) throw error
      wrong++
      answers.push({ file, valid: false, problems: error.problems })
      for (const line of problemLines(error)) terminal.print(line)
    }
  }
  if (terminal.json) terminal.data(files.length === 1 ? answers[0] : answers)
  return wrong === 0 ? EXIT.ok : EXIT.usage
}

function refuseWarnings(file: string, { warnings = [] }: Definition): void {
  if (warnings.length > 0) throw new DefinitionError(file, warnings)
}
