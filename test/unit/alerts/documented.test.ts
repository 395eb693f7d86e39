import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { alertKinds, kindsOf } from '../../../src/alerts/catalogue/kinds';
import { parameterFields, parameterNames } from '../../../src/alerts/catalogue/parameters';
import { FieldError } from '../../../src/kernel';

const project = join(__dirname, '..', '..', '..');
const page = readFileSync(join(project, 'docs', 'alerts.md'), 'utf8');
const { alerts } = JSON.parse(readFileSync(join(project, 'locales', 'en.json'), 'utf8')) as {
  alerts: { kind: Record<string, Record<string, string>>; parameter: Record<string, string> };
};

/** Returns the table row of a kind: `| name | severity | when, with defaults in brackets | what to do |`. */
const documentedRow = (name: string): string =>
  page.split('\n').find((line) => line.startsWith(`| \`${name}\` |`)) ?? '';

test.each(alertKinds)(
  '$name has its texts and a documented row with its default values',
  ({ name, severity, parameters, runbook }) => {
    expect(Object.keys(alerts.kind[name] ?? {}).toSorted()).toEqual(['about', 'advice', 'name', 'text']);
    const row = documentedRow(name);
    expect(row).toContain({ info: 'information', warning: 'warning', urgent: 'urgent' }[severity]);
    for (const value of Object.values(parameters)) expect(row).toMatch(new RegExp(`\\b${value}\\b`));
    expect(/\[Runbook\]\((.+)\)/.exec(row)?.[1]).toBe(runbook?.replace('docs/', ''));
    if (runbook !== null) expect(existsSync(join(project, runbook))).toBe(true);
  },
);

test('rows and texts exist for alert kinds only', () => {
  const rows = [...page.matchAll(/^\| `([a-z-]+)` \| (?:information|warning|urgent)/gm)].map(
    ([, name]) => name,
  );
  expect(rows).toEqual([...kindsOf(1), ...kindsOf(null)].map(({ name }) => name));
  expect(Object.keys(alerts.kind).toSorted()).toEqual(alertKinds.map(({ name }) => name).toSorted());
});

test('default values are within their bounds, and every parameter has a label and an accepting kind', () => {
  for (const { parameters } of alertKinds)
    for (const name of parameterNames)
      if (parameters[name] !== undefined)
        expect(parameterFields[name].read(parameters[name])).not.toBeInstanceOf(FieldError);
  expect(Object.keys(alerts.parameter).toSorted()).toEqual(parameterNames.toSorted());
  for (const name of parameterNames)
    expect(alertKinds.some(({ parameters }) => parameters[name] !== undefined)).toBe(true);
});
