import type { Findings } from '../../test/system/findings';

export interface SceneFinding {
  readonly what: string;
  readonly expected: string;
  readonly seen: string;
  readonly held: boolean;
}

/** Collects the findings of a scene, so that they are printed together even if scenes run concurrently. */
export class SceneReport {
  readonly findings: SceneFinding[] = [];

  constructor(private readonly title: string) {}

  add(what: string, expected: string, seen: string, held: boolean): void {
    this.findings.push({ what: what === '' ? this.title : `${this.title}: ${what}`, expected, seen, held });
  }

  print(findings: Findings): void {
    for (const { what, expected, seen, held } of this.findings) findings.check(what, expected, seen, held);
  }
}
