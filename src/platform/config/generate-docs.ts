import { readFileSync, writeFileSync } from 'node:fs';
import { underlyingMetrics, readRules } from '../metrics/alert-rules';
import { metricsPage } from '../metrics/metrics-page';
import { configurationPage, environmentExample } from './generate';

// Writes the generated files; with --check only reports whether they are up to date.
const isCheckOnly = process.argv.includes('--check');
const groups = readRules('deploy/prometheus/rules');
const alerts = groups
  .flatMap(({ rules }) => rules)
  .flatMap(({ alert, expr }) =>
    alert === undefined ? [] : [{ alert, metrics: underlyingMetrics(expr, groups) }],
  );
for (const [path, content] of [
  ['.env.example', environmentExample()],
  ['docs/configuration.md', configurationPage()],
  ['docs/metrics.md', metricsPage(alerts)],
] as const) {
  if (!isCheckOnly) writeFileSync(path, content);
  else if (readFileSync(path, 'utf8') !== content) {
    process.stderr.write(`${path} is not what is generated; run it without --check\n`);
    process.exitCode = 1;
  }
}
