import type { LoggerService } from '@nestjs/common';
import type { Logger } from './logger';

type Weight = 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/** A line for every module and route: of use only when a fault in the start is looked for. */
const startUpContexts = new Set([
  'InstanceLoader',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
  'NestApplication',
]);

/** What ends the start is thrown as well, and told by whoever called it. */
const TOLD_BY_CALLER = 'ExceptionHandler';

/** Lets Nest's own lines leave through the same sink. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.pass(startUpContexts.has(contextOf(rest) ?? '') ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.pass(contextOf(rest) === TOLD_BY_CALLER ? 'debug' : 'error', message, rest);
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

  private pass(weight: Weight, message: unknown, rest: unknown[]): void {
    const context = contextOf(rest);
    const stack = rest.find(isStack);
    const error = message instanceof Error ? message : rest.find((item) => item instanceof Error);
    this.logger[weight](message instanceof Error ? message.message : asText(message), {
      ...(context !== undefined && { context }),
      ...(error !== undefined && { error }),
      ...(stack !== undefined && error === undefined && { error: { stack } }),
    });
  }
}

/** Nest passes the name of a class last, and for errors a stack before it. A bundler puts a line before the name. */
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
