import type { LoggerService } from '@nestjs/common';
import type { Logger } from './logger';

type EntryLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/** Contexts with one line per module and route, which are useful only for debugging the start. */
const startUpContexts = new Set([
  'InstanceLoader',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
  'NestApplication',
]);

/** Errors that end the start are also thrown, and reported by the caller. */
const REPORTED_BY_CALLER = 'ExceptionHandler';

export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.pass(startUpContexts.has(contextOf(rest) ?? '') ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.pass(contextOf(rest) === REPORTED_BY_CALLER ? 'debug' : 'error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.pass('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.pass('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.pass('debug', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.pass('fatal', message, rest);
  }

  private pass(level: EntryLevel, message: unknown, rest: unknown[]): void {
    const context = contextOf(rest);
    const stack = rest.find(isStack);
    const error = message instanceof Error ? message : rest.find((item) => item instanceof Error);
    this.logger[level](message instanceof Error ? message.message : asText(message), {
      ...(context !== undefined && { context }),
      ...(error !== undefined && { error }),
      ...(stack !== undefined && error === undefined && { error: { stack } }),
    });
  }
}

/**
 * Nest passes the class name last, and for errors a stack before it. A bundler prefixes the name with an underscore.
 */
function contextOf(rest: readonly unknown[]): string | undefined {
  const last = rest.at(-1);
  return typeof last === 'string' && !isStack(last) ? last.replace(/^_/, '') : undefined;
}

function isStack(value: unknown): boolean {
  return typeof value === 'string' && /\n\s+at /.test(value);
}

function asText(message: unknown): string {
  return typeof message === 'string' ? message : (JSON.stringify(message) ?? String(message));
}
