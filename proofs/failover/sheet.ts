import type { Findings } from '../../test/system/findings';

export interface Finding {
  readonly what: string;
  readonly expected: string;
  readonly seen: string;
  readonly held: boolean;
}

/** The findings of one scene are printed together, however many are played at once. */
export class Sheet {
  readonly findings: Finding[] = [];

  constructor(private readonly title: string) {}

  add(what: string, expected: string, seen: string, held: boolean): void {
    this.findings.push({ what: what === '' ? this.title : `${this.title}: ${what}`, expected, seen, held });
  }

  print(findings: Findings): void {
    for (const { what, expected, seen, held } of this.findings) findings.check(what, expected, seen, held);
  }
}
