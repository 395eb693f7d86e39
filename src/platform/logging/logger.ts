import pino from 'pino';
import { parseJsonText } from '../../kernel';
import type { Settings } from '../config';
import { formatPretty } from './pretty';
import { redact } from './redact';
import { type LogEntry, Repetitions } from './repetitions';

/** Details of an entry in snake case, such as `request_id`; an Error goes into `error`. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface LogSink {
  write(line: string): unknown;
}

/**
 * Writes entries of one line. Redaction happens at the sink, so that no caller can forget it; repeated failures are
 * logged once and then counted.
 */
export class Logger {
  private constructor(
    private readonly inner: pino.Logger,
    private readonly repetitions: Repetitions,
  ) {}

  static create(settings: Pick<Settings, 'logLevel' | 'logFormat'>, sink: LogSink = process.stdout): Logger {
    const coloured = sink === process.stdout && process.stdout.isTTY;
    const repetitions = new Repetitions((entry: LogEntry): void => {
      sink.write(
        settings.logFormat === 'pretty' ? formatPretty(entry, coloured) : `${JSON.stringify(entry)}\n`,
      );
    });
    const write = (line: string): void => repetitions.handle(redact(parseJsonText(line)) as LogEntry);
    const options: pino.LoggerOptions = {
      level: settings.logLevel,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: pino.stdSerializers.errWithCause },
      depthLimit: 8,
      edgeLimit: 100,
    };
    return new Logger(pino(options, { write }), repetitions);
  }

  child(fields: LogFields): Logger {
    return new Logger(this.inner.child(fields), this.repetitions);
  }

  /** Logs how often failures were repeated since the last count. */
  flush(): void {
    this.repetitions.flush();
  }

  debug(message: string, fields: LogFields = {}): void {
    this.inner.debug(fields, message);
  }

  info(message: string, fields: LogFields = {}): void {
    this.inner.info(fields, message);
  }

  warn(message: string, fields: LogFields = {}): void {
    this.inner.warn(fields, message);
  }

  error(message: string, fields: LogFields = {}): void {
    this.inner.error(fields, message);
  }

  fatal(message: string, fields: LogFields = {}): void {
    this.inner.fatal(fields, message);
  }
}
