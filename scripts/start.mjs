// @ts-check
/** `npm start`: what is missing is installed and built, then `petrel dev` runs in this very process. */
import { fileURLToPath } from 'node:url'
import { orExit, setup } from './setup.mjs'

orExit(setup)

const petrel = fileURLToPath(new URL('../bin/petrel', import.meta.url))
process.argv = [process.execPath, petrel, 'dev', ...process.argv.slice(2)]
await import(petrel)
