/** The logger that the parts of Petrel use; pino's loggers have this interface. */
export interface Logger {
  debug(context: object, message: string): void
  info(context: object, message: string): void
  warn(context: object, message: string): void
  error(context: object, message: string): void
}
