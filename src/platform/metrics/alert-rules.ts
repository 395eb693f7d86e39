import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface RuleGroup {
  readonly name: string;
  readonly rules: readonly Rule[];
}

/** All rules below a folder, such as `deploy/prometheus/rules`. */
export function readRules(folder: string): RuleGroup[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yml'));
  return files
    .sort()
    .flatMap((name) => (parse(readFileSync(join(folder, name), 'utf8')) as { groups: RuleGroup[] }).groups);
}

/** A metric or a recorded series in a query: with a prefix that no function and no label has. */
const NAMES = /\b(?:gateway|process|nodejs|switchboard)[_:][a-z0-9_:]+/g;

/** What a query reads; a histogram by its own name. */
export function metricsIn(expr: string): Set<string> {
  const names = expr.match(NAMES) ?? [];
  return new Set(names.map((name) => name.replace(/_seconds_(?:bucket|sum|count)$/, '_seconds')));
}

/** The same, with what recorded series are made of in their place. */
export function metricsBehind(expr: string, groups: readonly RuleGroup[]): Set<string> {
  const rules = groups.flatMap((group) => group.rules);
  const found = new Set<string>();
  for (const name of metricsIn(expr)) {
    const recorded = rules.find(({ record }) => record === name);
    if (recorded === undefined) found.add(name);
    else for (const behind of metricsBehind(recorded.expr, groups)) found.add(behind);
  }
  return found;
}
