import { collectDefaultMetrics } from 'prom-client';
import { Metrics } from './metrics';

/** An alert, by the metrics that its expression names. */
export interface AlertUse {
  readonly alert: string;
  readonly metrics: ReadonlySet<string>;
}

export interface DeclaredMetric {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

export function declaredMetrics(): DeclaredMetric[] {
  const { registry } = new Metrics();
  collectDefaultMetrics({ register: registry });
  const all = registry.getMetricsAsArray() as unknown as DeclaredMetric[];
  return [...all].sort((one, other) => (one.name < other.name ? -1 : 1));
}

export function metricsPage(alerts: readonly AlertUse[]): string {
  const all = declaredMetrics();
  const isOwn = ({ name }: DeclaredMetric): boolean => name.startsWith('gateway_');
  const tableOf = (metrics: readonly DeclaredMetric[]): string =>
    [
      '| Metric | Type | Labels | Meaning | Alerts |',
      '| --- | --- | --- | --- | --- |',
      ...metrics.map((metric) => row(metric, alerts)),
    ].join('\n');
  const tables = [
    `## Of the service\n\n${tableOf(all.filter(isOwn))}`,
    `## Of the process\n\nThese are made by the library (prom-client) and mean what they mean everywhere.\n\n${tableOf(all.filter((metric) => !isOwn(metric)))}`,
  ];
  return `${[intro, ...tables].join('\n\n')}\n`;
}

const intro = `# Metrics

<!-- Generated from src/platform/metrics and deploy/prometheus/rules. -->

\`/metrics\` is served in the text format of Prometheus, on a port of its own (\`METRICS_HOST\`, \`METRICS_PORT\`), never on the public one. What is not counted as it happens is read when it is scraped: a scrape takes at most two seconds, which it takes where the database is silent. Keys, people and organisations are never labels, and no metric has more than 1,000 series: further ones count as \`other\`.

[\`deploy/prometheus\`](../deploy/prometheus) has a configuration, recording rules and alerts, [\`deploy/grafana\`](../deploy/grafana) dashboards, and [\`runbooks\`](runbooks) a page for each alert. Every node is scraped; where a metric says something of all nodes (jobs, taps, backups), the rules take the largest value. Prometheus keeps \`job\` for itself, so the label of that name arrives as \`exported_job\`.`;

function row({ name, type, labelNames, help }: DeclaredMetric, alerts: readonly AlertUse[]): string {
  const used = alerts.filter(({ metrics }) => metrics.has(name)).map(({ alert }) => alert);
  const cells = [
    `\`${name}\``,
    type,
    labelNames.map((label) => `\`${label}\``).join(', '),
    help,
    used.map((alert) => `[${alert}](runbooks/${alert}.md)`).join(', '),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
