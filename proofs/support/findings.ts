/** What a proof looked at, one line each, and what becomes of the process. */
export class Findings {
  private held = 0;
  private all = 0;

  constructor(private readonly name: string) {}

  add(what: string, holds: boolean, found: string): void {
    this.all += 1;
    if (holds) this.held += 1;
    process.stdout.write(`${holds ? 'held  ' : 'FAILED'}  ${what.padEnd(78)} ${found}\n`);
  }

  end(): void {
    process.stdout.write(`\n${this.name}: ${this.held} of ${this.all} held\n`);
    process.exitCode = this.held === this.all && this.all > 0 ? 0 : 1;
  }
}

/** `--twins 200` as a number. */
export function numberGiven(name: string, usual: number): number {
  const place = process.argv.indexOf(`--${name}`);
  const given = Number(place === -1 ? usual : process.argv[place + 1]);
  if (!Number.isSafeInteger(given) || given < 0) throw new Error(`--${name} takes a whole number`);
  return given;
}

/** So many at a time, in the order of the list. */
export async function inParallel<T>(
  most: number,
  list: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = list.values();
  await Promise.all(
    Array.from({ length: most }, async () => {
      for (const item of left) await work(item);
    }),
  );
}

export function runProof(main: () => Promise<void>): void {
  void main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  });
}
