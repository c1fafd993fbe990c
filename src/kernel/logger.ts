/** What the parts of Petrel log to; pino's loggers have this shape. */
export interface Logger {
  debug(context: object, message: string): void
  info(context: object, message: string): void
  warn(context: object, message: string): void
  error(context: object, message: string): void
}
