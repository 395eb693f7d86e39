import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings, SettingsError } from '../../../src/platform/config';
import { declaredSettings } from '../../../src/platform/config/setting.decorator';

const external = 'postgres://app:w3ll-chosen@db.internal/switchboard';
const folder = mkdtempSync(join(tmpdir(), 'switchboard-settings-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function faultsOf(env: Record<string, string>): Record<string, string> {
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
test('an unreadable setting is in the list of faults, whatever is set beside it', () => {
  const beside: Record<string, string> = {
    NODE_ENV: 'production',
    DATABASE_URL: external,
    MIGRATION_DATABASE_URL: external,
    PROCESSOR_SECRET_KEY: 'sk_test_12345678',
    PROCESSOR_PUBLISHABLE_KEY: 'pk_test_12345678',
    IDP1_CLIENT_ID: 'id',
    IDP1_CLIENT_SECRET: 'secret',
    IDP1_ISSUER: 'https://id.example',
    PROCESSES: '2',
    EGRESS_PROXY: 'http://proxy.internal:3128',
    BACKUP_TARGET: 's3://bucket/path',
  };
  expect(faultsOf({ ...beside, PROCESSOR_SECRET_KEY: 'sk_test_abc123' })).toHaveProperty(
    'PROCESSOR_SECRET_KEY',
  );
  const odd = ['\u0001', '0', 'x y', '-1', '{}'];
  for (const { name, as } of declaredSettings)
    for (const value of odd)
      if (as.read(value) === undefined)
        expect([name, faultsOf({ ...beside, [name]: value })[name]]).toEqual([name, expect.any(String)]);
});
