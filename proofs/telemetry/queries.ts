import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { projectFolder } from '../../test/system/program';
import { underlyingMetrics, readRules, type RuleGroup } from '#inside/platform/metrics/alert-rules';
import { RULES } from './promtool';

interface GrafanaPanel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

interface GrafanaDashboard {
  readonly panels: readonly GrafanaPanel[];
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
}

/** A query and its panel. */
export interface PanelQuery {
  readonly panel: string;
  readonly expr: string;
}

const dashboards = resolve(projectFolder, 'deploy/grafana/dashboards');

/** Queries with Grafana's variable replaced, which is at least four scrape intervals. */
export const panelQueries: readonly PanelQuery[] = readdirSync(dashboards).flatMap((file) => {
  const { panels } = JSON.parse(readFileSync(join(dashboards, file), 'utf8')) as GrafanaDashboard;
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      panel: `${file}: ${title}`,
      expr: expr.replaceAll('$__rate_interval', '1m'),
    })),
  );
});

export const ruleGroups: readonly RuleGroup[] = readRules(RULES);
export const alertRules = ruleGroups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined);

/** Metrics that an alert uses. */
export function metricsOf(name: string): string[] {
  const rule = alertRules.find(({ alert }) => alert === name);
  return rule === undefined ? [] : [...underlyingMetrics(rule.expr, ruleGroups)].sort();
}
