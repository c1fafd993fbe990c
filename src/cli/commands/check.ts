import type { Command } from 'commander'
import { DefinitionError } from '../../dialects/mistakes.ts'
import { act, jsonOption } from '../act.ts'
import { EXIT, problemLines } from '../failure.ts'
import { readDefinitionFile } from '../file.ts'
import type { Terminal } from '../terminal.ts'
import { count } from '../words.ts'

export function defineCheck(program: Command): void {
  const command = program
    .command('check')
    .argument('<file...>', 'definitions (YAML or JSON)')
    .description('validate definitions; problems are printed as FILE:LINE:COLUMN')
  jsonOption(command).action(act<object, readonly [readonly string[]]>((terminal, _, files) => check(terminal, files)))
}

async function check(terminal: Terminal, files: readonly string[]): Promise<number> {
  const { namesOf } = await import('../run/names.ts')
  const answers: object[] = []
  let wrong = 0
  for (const file of files) {
    try {
      const definition = await readDefinitionFile(file)
      const { nodes, types } = namesOf(definition)
      answers.push({
        file,
        valid: true,
        dialect: definition.dialect,
        name: definition.name,
        types: [...types],
        problems: [],
      })
      terminal.print(
        `${file}: ${terminal.paint('green', 'valid')}, ${definition.dialect} '${definition.name}', ${count(nodes.size, 'node')}, types ${[...types].join(', ') || 'none'}`,
      )
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
