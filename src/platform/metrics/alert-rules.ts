import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

interface PrometheusRule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface RuleGroup {
  readonly name: string;
  readonly rules: readonly PrometheusRule[];
}

export function readRules(folder: string): RuleGroup[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yml'));
  return files
    .sort()
    .flatMap((name) => (parse(readFileSync(join(folder, name), 'utf8')) as { groups: RuleGroup[] }).groups);
}

/** Metrics and recorded series in a query; no function or label has these prefixes. */
const METRIC_NAMES = /\b(?:gateway|process|nodejs|switchboard)[_:][a-z0-9_:]+/g;

/** Metrics that a query reads; histograms by their own name. */
export function metricsIn(expr: string): Set<string> {
  const names = expr.match(METRIC_NAMES) ?? [];
  return new Set(names.map((name) => name.replace(/_seconds_(?:bucket|sum|count)$/, '_seconds')));
}

/** As `metricsIn`, with recorded series replaced by the metrics that they are computed from. */
export function underlyingMetrics(expr: string, groups: readonly RuleGroup[]): Set<string> {
  const rules = groups.flatMap((group) => group.rules);
  const metrics = new Set<string>();
  for (const name of metricsIn(expr)) {
    const recorded = rules.find(({ record }) => record === name);
    if (recorded === undefined) metrics.add(name);
    else for (const metric of underlyingMetrics(recorded.expr, groups)) metrics.add(metric);
  }
  return metrics;
}
