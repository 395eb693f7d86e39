export interface Command {
  readonly usage: string;
  readonly summary: string;
  /** Answers the exit code. */
  run(words: string[]): Promise<number>;
}
