/** Names cases that a proof could not try: each has a line of its own and stands on the last line, too. */
export class LeftOut {
  private readonly list: string[] = [];
  private count = 0;

  add(what: string, why: string, count = 1): void {
    process.stdout.write(`left out  ${what}: ${why}\n`);
    this.list.push(`${what} (${why})`);
    this.count += count;
  }

  /** As in `, 1 not run: redis (redis-server is not installed)`; empty where everything was tried. */
  get told(): string {
    return this.list.length === 0 ? '' : `, ${this.count} not run: ${this.list.join('; ')}`;
  }
}

/** What a proof looked at, one line each, and what becomes of the process. */
export class Findings {
  private held = 0;
  private all = 0;
  private readonly leftOut = new LeftOut();

  constructor(private readonly name: string) {}

  add(what: string, holds: boolean, found: string): void {
    this.all += 1;
    if (holds) this.held += 1;
    process.stdout.write(`${holds ? 'held  ' : 'FAILED'}  ${what.padEnd(78)} ${found}\n`);
  }

  /** Holds where none of so many cases is wrong; without a case there was nothing to hold. */
  over(what: string, cases: number, wrong: number, found: string): void {
    this.add(what, cases > 0 && wrong === 0, cases === 0 ? `no case was tried; ${found}` : found);
  }

  /** A case that cannot be tried here is neither held nor failed. */
  leaveOut(what: string, why: string, count = 1): void {
    this.leftOut.add(what, why, count);
  }

  end(): void {
    process.stdout.write(`\n${this.name}: ${this.held} of ${this.all} held${this.leftOut.told}\n`);
    process.exitCode = this.held === this.all && this.all > 0 ? 0 : 1;
  }
}

/** The parts named on the command line, and all of them where none is. An unknown name is a mistake. */
export function partsGiven(
  known: readonly string[],
  named = process.argv.slice(2).filter((word) => !word.startsWith('--')),
): readonly string[] {
  const unknown = named.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`no such part: ${unknown.join(', ')}; known: ${known.join(', ')}`);
  return named.length === 0 ? known : named;
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
