import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { underlyingMetrics, readRules } from '../../../src/platform/metrics/alert-rules';
import { metricsPage } from '../../../src/platform/metrics/metrics-page';

const root = join(__dirname, '../../..');
const groups = readRules(join(root, 'deploy/prometheus/rules'));
const alerts = groups
  .flatMap(({ rules }) => rules)
  .flatMap(({ alert, expr }) =>
    alert === undefined ? [] : [{ alert, metrics: underlyingMetrics(expr, groups) }],
  );

// On other systems the library has fewer process collectors.
const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('metrics page matches what the declarations and the rules generate', () => {
  expect(readFileSync(join(root, 'docs/metrics.md'), 'utf8')).toBe(metricsPage(alerts));
});
