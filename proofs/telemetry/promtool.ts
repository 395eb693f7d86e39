import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Program, projectFolder } from '../../test/system/program';
import { healthy, type RuleTrial, type SeriesValues, trials } from './rule-trials';

export const RULES = resolve(projectFolder, 'deploy/prometheus/rules');
const files = ['alerts.yml', 'recording.yml'].map((name) => join(RULES, name));
const DEFAULT_TIME = '2h';

/** Installs Debian's package, which contains both programs, if they are missing; requires root. */
export async function installPrometheus(): Promise<void> {
  if ((await Program.run('promtool', ['--version']).finish()).code === 0) return;
  const install = (words: readonly string[]): Promise<{ code: number | null; text: string }> =>
    Program.run('apt-get', words, { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }).finish();
  await install(['update']);
  const { code, text } = await install(['install', '-y', '--no-install-recommends', 'prometheus']);
  if (code !== 0) throw new Error(`prometheus could not be installed: ${text.slice(-500)}`);
}

export async function promtool(words: readonly string[]): Promise<{ isGood: boolean; text: string }> {
  const { code, text } = await Program.run('promtool', words).finish();
  return { isGood: code === 0, text };
}

export const checkRules = (): Promise<{ isGood: boolean; text: string }> =>
  promtool(['check', 'rules', ...files]);

/** Verifies that healthy series fire no alert, and those of a trial only its own. */
export async function tryRules(
  folder: string,
  trial: RuleTrial | null,
): Promise<{ isGood: boolean; text: string }> {
  const file = join(folder, `${trial?.alert ?? 'healthy'}.test.yml`);
  const expected = trial === null ? [] : [trial.alert, ...(trial.also ?? [])];
  // JSON is valid YAML.
  writeFileSync(
    file,
    JSON.stringify(testOf({ ...healthy, ...trial?.series }, expected, trial?.at ?? DEFAULT_TIME)),
  );
  return promtool(['test', 'rules', file]);
}

const testOf = (input: SeriesValues, expected: readonly string[], time: string): object => ({
  rule_files: files,
  evaluation_interval: '1m',
  tests: [
    {
      interval: '1m',
      input_series: Object.entries(input).map(([series, values]) => ({ series, values })),
      promql_expr_test: [
        {
          expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: time,
          exp_samples: expected.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
        },
      ],
    },
  ],
});

export { trials };
