/** The outside world of a command; tests replace it. */
export interface CommandContext {
  readonly environment: NodeJS.ProcessEnv;
  write(text: string): void;
  writeStderr(text: string): void;
  /** It is false where no person can answer. */
  confirm(question: string): Promise<boolean>;
}

export interface Command {
  readonly usage: string;
  readonly summary: string;
  /** Answers the exit code. */
  run(words: string[], context: CommandContext): Promise<number>;
}

/** A command acts in this name in all that it changes. */
export const COMMAND_LINE = 'command line';

/** A usage error, independent of the state of the installation. */
export class UsageError extends Error {}

/** The settings of a command lead to no installation. */
export class NoInstallation extends Error {}
