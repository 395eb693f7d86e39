/** Collects the checks of a proof, prints a line per check and sets the exit code; no case at all is a failure. */
export class Findings {
  private passed = 0;
  private total = 0;
  private notRun = 0;
  private readonly skippedCases: string[] = [];

  constructor(private readonly name: string) {}

  add(what: string, holds: boolean, detail = ''): void {
    this.addCases(what, 1, holds ? 0 : 1, detail);
  }

  /** Prints the expected result next to the actual one. */
  check(what: string, expected: string, seen: string, holds: boolean): void {
    this.add(`${what.padEnd(66)}  ${expected.padEnd(40)} `, holds, seen);
  }

  /** Passes if the work completes; prints its result or its error. */
  async attempt(what: string, work: () => Promise<string | void>): Promise<void> {
    await work().then(
      (seen) => this.add(what, true, seen ?? ''),
      (error: unknown) => this.add(what, false, error instanceof Error ? error.message : String(error)),
    );
  }

  /** Passes if there are cases and none of them is wrong. */
  expectNoneWrong(what: string, cases: number, wrong: number, detail: string): void {
    this.add(what, cases > 0 && wrong === 0, cases === 0 ? `no case was tried; ${detail}` : detail);
  }

  /** Counts each case of a kind separately, but prints a single line for them. */
  addCases(kind: string, cases: number, wrong: number, detail = `${cases - wrong} of ${cases}`): void {
    this.total += cases;
    this.passed += cases - wrong;
    const line = `${wrong === 0 ? 'held  ' : 'FAILED'}  ${kind.padEnd(78)} ${shorten(detail)}`;
    process.stdout.write(`${line.trimEnd().replaceAll('\n', '\n          ')}\n`);
  }

  /** Records a case that cannot be run here as neither passed nor failed, and lists it again in the last line. */
  addSkipped(what: string, why: string, count = 1): void {
    process.stdout.write(`left out  ${what}: ${why}\n`);
    this.skippedCases.push(`${what} (${why})`);
    this.notRun += count;
  }

  end(): void {
    const skippedSummary =
      this.notRun === 0 ? '' : `, ${this.notRun} not run: ${this.skippedCases.join('; ')}`;
    process.stdout.write(`\n${this.name}: ${this.passed} of ${this.total} held${skippedSummary}\n`);
    process.exitCode = this.passed === this.total && this.total > 0 ? 0 : 1;
  }
}

const MAX_OUTPUT_LENGTH = 2_000;

/** Keeps the beginning and the end, where a program reports its result. */
function shorten(text: string): string {
  const trimmed = text.trimEnd();
  return trimmed.length <= MAX_OUTPUT_LENGTH
    ? trimmed
    : `${trimmed.slice(0, MAX_OUTPUT_LENGTH / 2)} … ${trimmed.slice(-MAX_OUTPUT_LENGTH / 2)}`;
}

/** Returns the parts named on the command line, or all of them; throws for an unknown name. */
export function partsFromArguments(
  known: readonly string[],
  named = process.argv.slice(2).filter((word) => !word.startsWith('--')),
): readonly string[] {
  const unknown = named.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`no such part: ${unknown.join(', ')}; known: ${known.join(', ')}`);
  return named.length === 0 ? known : named;
}

/** Returns a numeric option such as `--twins 200`. */
export function numberOption(name: string, defaultValue: number): number {
  const position = process.argv.indexOf(`--${name}`);
  const value = Number(position === -1 ? defaultValue : process.argv[position + 1]);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`--${name} takes a whole number`);
  return value;
}

/** Runs the work for the items in order, with at most the given number at a time. */
export async function inParallel<T>(
  most: number,
  list: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const remaining = list.values();
  await Promise.all(
    Array.from({ length: most }, async () => {
      for (const item of remaining) await work(item);
    }),
  );
}

export function runProof(main: () => Promise<void>): void {
  void main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  });
}
