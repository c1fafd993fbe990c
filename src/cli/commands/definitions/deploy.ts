import type { Command } from 'commander'
import { PetrelError } from '../../../kernel/errors.ts'
import { DefinitionError } from '../../../notations/source/mistakes.ts'
import type { Deployed } from '../../../operations/definitions/catalog.ts'
import { deployDefinition } from '../../../operations/definitions/definitions.ts'
import type { Perform } from '../../../operations/operation.ts'
import { deployedWire } from '../../../wire/definition.ts'
import { withOperations } from '../../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions } from '../../terminal/act.ts'
import { describeFailure, EXIT, type Failed, problemLines } from '../../terminal/failure.ts'
import { readDefinitionText } from '../../terminal/file.ts'
import { harmless, type Terminal } from '../../terminal/terminal.ts'
import { triggerText } from './definitions.ts'

export function defineDeploy(program: Command): void {
  const command = program
    .command('deploy')
    .argument('<file...>', 'definitions (YAML or JSON)')
    .description('store definitions, to be started by name, event or schedule')
    .option('--tag <tag...>', 'their instances have these tags, besides those in the text')
  jsonOption(storeOptions(command)).action(act<DeployOptions, readonly [readonly string[]]>(deploy))
}

interface DeployOptions extends Shared {
  readonly tag?: readonly string[]
}

interface Text {
  readonly file: string
  readonly text: string
  readonly tags?: readonly string[]
}

interface Tried {
  readonly file: string
  readonly outcome: Deployed | DefinitionError | PetrelError
}

async function deploy(terminal: Terminal, options: DeployOptions, files: readonly string[]): Promise<number> {
  const tags = options.tag === undefined ? {} : { tags: options.tag }
  const texts = files.map((file) => ({ file: file === '-' ? 'stdin' : file, text: readDefinitionText(file), ...tags }))
  return withOperations(
    options,
    async (perform) => {
      const tried = await deployAll(perform, texts)
      if (terminal.json) terminal.data(tried.length === 1 ? wire(tried[0] as Tried) : tried.map(wire))
      else for (const one of tried) print(terminal, one)
      return exitOf(tried)
    },
    { create: true },
  )
}

/** Files may refer to one another, in any order: failed ones are retried as long as others succeed. */
async function deployAll(perform: Perform, texts: readonly Text[]): Promise<readonly Tried[]> {
  const done = new Map<string, Tried['outcome']>()
  for (let left = texts; left.length > 0; ) {
    const failed: (typeof texts)[number][] = []
    for (const one of left) {
      const outcome = await deployOne(perform, one)
      done.set(one.file, outcome)
      if (outcome instanceof DefinitionError) failed.push(one)
    }
    if (failed.length === left.length) break
    left = failed
  }
  return texts.map(({ file }) => ({ file, outcome: done.get(file) as Tried['outcome'] }))
}

async function deployOne(perform: Perform, one: Text): Promise<Tried['outcome']> {
  try {
    return await perform(deployDefinition, one)
  } catch (error) {
    if (error instanceof DefinitionError || error instanceof PetrelError) return error
    throw error
  }
}

function wire({ file, outcome }: Tried): object {
  if (!(outcome instanceof Error)) return { file, ...deployedWire(outcome) }
  const { code, message, details } = describeFailure(outcome)
  return { file, error: { code, message, details } }
}

const WORDS: { readonly [what in Deployed['what']]: string } = {
  created: 'deployed',
  unchanged: 'unchanged: this is its text already',
  replaced: 'replaced: nothing had started it yet',
  restored: 'back in service',
  tagged: 'has other tags now; its text is unchanged',
}

function print(terminal: Terminal, { file, outcome }: Tried): void {
  if (outcome instanceof DefinitionError) {
    for (const line of problemLines(outcome)) terminal.error(line)
    return
  }
  if (outcome instanceof Error) {
    const { message, hint }: Failed = describeFailure(outcome)
    terminal.error(`${file}: ${harmless(message)}`)
    if (hint !== null) terminal.error(`  ${harmless(hint)}`)
    return
  }
  const { row, what, warnings } = outcome
  const trigger = triggerText(row.trigger)
  const starts = trigger === '' ? `\`petrel start ${row.name}\` starts it` : `starts ${trigger}`
  terminal.print(`${terminal.paint('bold', row.name)} ${row.version} ${WORDS[what]}; ${starts}`)
  for (const line of problemLines({ file, problems: warnings }, `${terminal.paint('yellow', 'warning')}: `))
    terminal.print(line)
}

function exitOf(tried: readonly Tried[]): number {
  const exits = tried.map(({ outcome }) => (outcome instanceof Error ? describeFailure(outcome).exit : EXIT.ok))
  return Math.max(...exits)
}
