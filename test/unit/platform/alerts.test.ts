import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { metricsIn, readRules } from '../../../src/platform/metrics/alert-rules';
import { declaredMetrics } from '../../../src/platform/metrics/metrics-page';

const root = join(__dirname, '../../..');
const groups = readRules(join(root, 'deploy/prometheus/rules'));
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter(({ alert }) => alert !== undefined);
const recordedSeries = rules.flatMap(({ record }) => record ?? []);
const runbooks = readdirSync(join(root, 'docs/runbooks')).map((name) => name.replace(/\.md$/, ''));

const folder = join(root, 'deploy/grafana/dashboards');
interface DashboardPanel {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly datasource?: { readonly uid: string };
}
interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly panels: readonly DashboardPanel[];
}
const dashboardFiles = readdirSync(folder).map((name) => ({
  name,
  dashboard: JSON.parse(readFileSync(join(folder, name), 'utf8')) as Dashboard,
}));
const panels = dashboardFiles.flatMap(({ name, dashboard }) =>
  dashboard.panels.map((panel) => ({ ...panel, name: `${name}: ${panel.title}` })),
);

const knownMetrics = new Set([...declaredMetrics().map(({ name }) => name), ...recordedSeries]);
const unknownIn = (expr: string): string[] => [...metricsIn(expr)].filter((name) => !knownMetrics.has(name));

test('every metric in a rule is declared, and every recorded series is used', () => {
  expect(rules.flatMap(({ expr }) => unknownIn(expr))).toEqual([]);
  const queries = [...alerts, ...panels.flatMap(({ targets = [] }) => targets)].map(({ expr }) => expr);
  expect(recordedSeries.filter((name) => !queries.some((expr) => metricsIn(expr).has(name)))).toEqual([]);
});

test('every alert has a unique name, a severity, a summary and a runbook', () => {
  const names = alerts.map(({ alert }) => alert!);
  expect([...new Set(names)]).toEqual(names);
  for (const { alert, labels, annotations } of alerts) {
    expect([alert, labels?.['severity']]).toEqual([alert, expect.stringMatching(/^(critical|warning)$/)]);
    expect([alert, annotations?.['summary']]).toEqual([alert, expect.stringMatching(/\.$/)]);
    expect([alert, annotations?.['runbook_url']]).toEqual([alert, `runbooks/${alert}.md`]);
  }
  expect([...runbooks].sort()).toEqual([...names].sort());
});

const sections = ['## What it means', '## What callers see', '## Look', '## Mend', '## Over'];

test.each(runbooks)('runbook %s has every required section', (name) => {
  const text = readFileSync(join(root, 'docs/runbooks', `${name}.md`), 'utf8');
  expect(text.split('\n')[0]).toBe(`# ${name}`);
  expect(text.split('\n').filter((line) => line.startsWith('## '))).toEqual(sections);
  const isMetricPrefix = (part: string): boolean => [...knownMetrics].some((each) => each.startsWith(part));
  expect(unknownIn(text).filter((part) => !isMetricPrefix(part))).toEqual([]);
  for (const [, link = ''] of text.matchAll(/\]\(([^)#]+\.md)/g))
    expect(readFileSync(join(root, 'docs/runbooks', link), 'utf8')).toContain('# ');
});

test('every panel has a unit, the selected data source and queries of known metrics', () => {
  expect(dashboardFiles.map(({ name }) => name)).toEqual(
    ['money', 'nodes', 'queue', 'suppliers', 'traffic'].map((name) => `${name}.json`),
  );
  for (const { name, type, targets = [], fieldConfig, datasource } of panels) {
    if (type === 'row') continue;
    expect([name, targets.length]).not.toEqual([name, 0]);
    expect([name, targets.flatMap(({ expr }) => unknownIn(expr))]).toEqual([name, []]);
    expect([name, fieldConfig?.defaults.unit]).toEqual([name, expect.any(String)]);
    expect([name, datasource?.uid]).toEqual([name, '${datasource}']);
  }
  expect(new Set(dashboardFiles.map(({ dashboard }) => dashboard.uid)).size).toBe(dashboardFiles.length);
});
