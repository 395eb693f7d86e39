import { systemActor } from '../audit';

export interface CliContext {
  readonly environment: NodeJS.ProcessEnv;
  write(text: string): void;
  writeStderr(text: string): void;
  /** Returns false if no user can answer. */
  confirm(question: string): Promise<boolean>;
}

export interface CliCommand {
  readonly usage: string;
  readonly summary: string;
  run(argv: string[], context: CliContext): Promise<number>;
}

export const COMMAND_LINE = 'command line';

export const commandActor = systemActor(COMMAND_LINE);

export class UsageError extends Error {}

export class NoInstallationError extends Error {}
