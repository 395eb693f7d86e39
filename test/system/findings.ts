/** Each check is one line, and decides how the process ends: nothing is held over no case. */
export class Findings {
  private held = 0;
  private all = 0;
  private notRun = 0;
  private readonly leftOut: string[] = [];

  constructor(private readonly name: string) {}

  add(what: string, holds: boolean, found = ''): void {
    this.many(what, 1, holds ? 0 : 1, found);
  }

  /** The promise stands beside what was seen. */
  check(what: string, expected: string, seen: string, holds: boolean): void {
    this.add(`${what.padEnd(66)}  ${expected.padEnd(40)} `, holds, seen);
  }

  /** Holds where the work comes to its end; what it answers, or why it failed, is told. */
  async attempt(what: string, work: () => Promise<string | void>): Promise<void> {
    await work().then(
      (seen) => this.add(what, true, seen ?? ''),
      (error: unknown) => this.add(what, false, error instanceof Error ? error.message : String(error)),
    );
  }

  /** Holds where none of so many cases is wrong; without a case there was nothing to hold. */
  over(what: string, cases: number, wrong: number, found: string): void {
    this.add(what, cases > 0 && wrong === 0, cases === 0 ? `no case was tried; ${found}` : found);
  }

  /** Cases of one kind that count one by one, and have a line together. */
  many(kind: string, cases: number, wrong: number, found = `${cases - wrong} of ${cases}`): void {
    this.all += cases;
    this.held += cases - wrong;
    const line = `${wrong === 0 ? 'held  ' : 'FAILED'}  ${kind.padEnd(78)} ${shortened(found)}`;
    process.stdout.write(`${line.trimEnd().replaceAll('\n', '\n          ')}\n`);
  }

  /** A case that cannot be tried here is neither held nor failed: it has a line, and stands on the last one, too. */
  leaveOut(what: string, why: string, count = 1): void {
    process.stdout.write(`left out  ${what}: ${why}\n`);
    this.leftOut.push(`${what} (${why})`);
    this.notRun += count;
  }

  end(): void {
    const told = this.notRun === 0 ? '' : `, ${this.notRun} not run: ${this.leftOut.join('; ')}`;
    process.stdout.write(`\n${this.name}: ${this.held} of ${this.all} held${told}\n`);
    process.exitCode = this.held === this.all && this.all > 0 ? 0 : 1;
  }
}

const LONGEST = 2_000;

/** The end of what a program printed says what became of it. */
function shortened(text: string): string {
  const rest = text.trimEnd();
  return rest.length <= LONGEST ? rest : `${rest.slice(0, LONGEST / 2)} … ${rest.slice(-LONGEST / 2)}`;
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
