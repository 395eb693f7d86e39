import assert from 'node:assert/strict';

/** One line a check as it comes, and what becomes of the process. */
export class Report {
  private held = 0;
  private broken = 0;

  add(client: string, what: string, fault: string | null): void {
    if (fault === null) this.held += 1;
    else this.broken += 1;
    process.stdout.write(`${fault === null ? 'held  ' : 'BROKEN'}  ${client} · ${what}\n`);
    if (fault !== null) process.stdout.write(`${shortened(fault).replace(/^/gm, '          ')}\n`);
  }

  async check(client: string, what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.add(client, what, null);
    } catch (error) {
      this.add(client, what, error instanceof assert.AssertionError ? error.message : String(error));
    }
  }

  end(): void {
    process.stdout.write(`\n${this.held} held, ${this.broken} broken\n`);
    process.exitCode = this.broken === 0 && this.held > 0 ? 0 : 1;
  }
}

const LONGEST = 2_000;

/** The end of what an agent printed says what became of it. */
function shortened(text: string): string {
  const rest = text.trimEnd();
  return rest.length <= LONGEST ? rest : `${rest.slice(0, LONGEST / 2)} … ${rest.slice(-LONGEST / 2)}`;
}
