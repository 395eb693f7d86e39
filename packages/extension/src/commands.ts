export interface CommandContext {
  write(text: string): void;
  /** For progress and failures. */
  writeError(text: string): void;
}

/** A command of the command line, called as `<extension>:<name>`. */
export interface Command {
  readonly name: string;
  /** The words that follow its name, such as `--month YYYY-MM`. */
  readonly usage?: string;
  readonly summary: string;
  /** Answers the exit code, from 0 to 255; nothing is 0. All ports answer but `mail.send`. */
  run(words: readonly string[], context: CommandContext): Promise<number | void> | number | void;
}

/** It runs by a schedule, on one node at a time, and is safe to repeat. */
export interface Job {
  readonly name: string;
  /** Five or six fields, in UTC. */
  readonly cron: string;
  /** It is asked to end then; what is left is done the next time. */
  readonly deadlineMs?: number;
  run(signal: AbortSignal): Promise<void>;
}
