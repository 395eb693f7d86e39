import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { drills } from '../../../proofs/outages/drills';
import { readRules } from '../../../src/platform/metrics/alert-rules';

const root = join(__dirname, '../../..');
const rules = readRules(join(root, 'deploy/prometheus/rules')).flatMap((group) => group.rules);
const alerts = new Set(rules.map(({ alert }) => alert));
const allDrills = drills.flat();

test('every fault of the outage drills has an alert that reports it', () => {
  const files = readdirSync(join(root, 'proofs/outages/drills')).filter((name) => name !== 'index.ts');
  expect(allDrills.map(({ name }) => `${name}.ts`).sort()).toEqual(files.sort());
  for (const drill of allDrills) {
    expect([drill.name, drill.alerts.length]).not.toEqual([drill.name, 0]);
    expect([drill.name, drill.alerts.filter((alert) => !alerts.has(alert))]).toEqual([drill.name, []]);
  }
});
