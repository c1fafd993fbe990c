/** Reports a port that cannot be listened on, with the correct form. */
import { PetrelError } from '../../kernel/errors.ts'
import { CliError } from './failure.ts'

export interface Place {
  readonly port: number
  readonly host: string
  /** Where the port was given. */
  readonly option: '--port' | '--metrics-port'
}

export async function listening<T>(starting: Promise<T>, { port, host, option }: Place): Promise<T> {
  try {
    return await starting
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof PetrelError && error.details['reason'] === 'no_keys') {
      throw new CliError(
        'denied',
        error.message,
        '`petrel keys add --subject NAME --scope admin` makes one; --host 127.0.0.1 needs none; --insecure lets everyone in',
        { host },
      )
    }
    if (code === 'EADDRINUSE') {
      throw new CliError(
        'invalid_request',
        `port ${port} is taken by another process`,
        `name a free one: ${option} ${port === 65535 ? 7071 : port + 1}, or ${option} 0 for any`,
        { port },
      )
    }
    if (code === 'EACCES')
      throw new CliError(
        'invalid_request',
        `port ${port} may not be used by this user`,
        `name one above 1023 with ${option}`,
        { port },
      )
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
      throw new CliError(
        'invalid_request',
        `this machine has no address ${host}`,
        `${option === '--port' ? '--host' : '--metrics-host'} 127.0.0.1 for this machine alone, 0.0.0.0 for all of its addresses`,
        { host },
      )
    }
    throw error
  }
}
