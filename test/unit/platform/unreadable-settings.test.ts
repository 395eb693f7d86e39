import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings, SettingsError } from '../../../src/platform/config';
import { declaredSettings } from '../../../src/platform/config/setting.decorator';

const externalUrl = 'postgres://app:w3ll-chosen@db.internal/switchboard';
const folder = mkdtempSync(join(tmpdir(), 'switchboard-settings-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function issuesOf(env: Record<string, string>): Record<string, string> {
  try {
    loadSettings({ DATA_FOLDER: folder, ...env }, { terminal: false });
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return Object.fromEntries(error.issues.map(({ name, problem }) => [name, problem]));
  }
  return {};
}

// "PROCESSOR_SECRET_KEY=sk_test_abc123 with a publishable key ends in TypeError: key2.slice is not a
// function instead of the list of faults".
test('unreadable setting is listed as an issue regardless of other settings', () => {
  const otherSettings: Record<string, string> = {
    NODE_ENV: 'production',
    DATABASE_URL: externalUrl,
    MIGRATION_DATABASE_URL: externalUrl,
    PROCESSOR_SECRET_KEY: 'sk_test_12345678',
    PROCESSOR_PUBLISHABLE_KEY: 'pk_test_12345678',
    IDP1_CLIENT_ID: 'id',
    IDP1_CLIENT_SECRET: 'secret',
    IDP1_ISSUER: 'https://id.example',
    PROCESSES: '2',
    EGRESS_PROXY: 'http://proxy.internal:3128',
    BACKUP_TARGET: 's3://bucket/path',
  };
  expect(issuesOf({ ...otherSettings, PROCESSOR_SECRET_KEY: 'sk_test_abc123' })).toHaveProperty(
    'PROCESSOR_SECRET_KEY',
  );
  const oddValues = ['\u0001', '0', 'x y', '-1', '{}'];
  for (const { name, as } of declaredSettings)
    for (const value of oddValues)
      if (as.read(value) === undefined)
        expect([name, issuesOf({ ...otherSettings, [name]: value })[name]]).toEqual([
          name,
          expect.any(String),
        ]);
});
