export interface CommandContext {
  write(text: string): void;
  /** Writes progress and failures. */
  writeError(text: string): void;
}

/** A command of the command line, called as `<extension>:<name>`. */
export interface Command {
  readonly name: string;
  /** Arguments after the name, such as `--month YYYY-MM`. */
  readonly usage?: string;
  readonly summary: string;
  /** Returns the exit code from 0 to 255; void means 0. All ports are available except `mail.send`. */
  run(words: readonly string[], context: CommandContext): Promise<number | void> | number | void;
}

/** A job that runs on a schedule, on one node at a time, and is safe to repeat. */
export interface Job {
  readonly name: string;
  /** Cron expression with five or six fields, in UTC. */
  readonly cron: string;
  /** Deadline after which the signal aborts; the job continues at its next run. */
  readonly deadlineMs?: number;
  run(signal: AbortSignal): Promise<void>;
}
