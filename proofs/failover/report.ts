export interface Finding {
  readonly what: string;
  readonly expected: string;
  readonly seen: string;
  readonly held: boolean;
}

/** What was found in one scene, printed together however many are played at once. */
export class Sheet {
  readonly findings: Finding[] = [];

  constructor(private readonly title: string) {}

  add(what: string, expected: string, seen: string, held: boolean): void {
    this.findings.push({ what: what === '' ? this.title : `${this.title}: ${what}`, expected, seen, held });
  }
}

/** One line a check: what was looked at, what the promise is, what was seen. */
export class Report {
  private held = 0;
  private all = 0;

  print({ findings }: Sheet): void {
    for (const { what, expected, seen, held } of findings) {
      this.all += 1;
      if (held) this.held += 1;
      const line = `${held ? 'held  ' : 'broken'}  ${what.padEnd(66)}  ${expected.padEnd(54)}  ${seen}`;
      process.stdout.write(`${line}\n`);
    }
  }

  /** The last line; answers whether everything held. */
  end(): boolean {
    process.stdout.write(`\nprove:failover: ${this.held} of ${this.all} held\n`);
    return this.held === this.all && this.all > 0;
  }
}
