import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LeanAdapter } from '#product/platform';
import { startTestApp, type TestApp } from '../support/app';
import { compareOperations } from '../../scripts/operations.cjs';

/** Maximum number of contract operations that are not served yet. */
const MAX_PENDING = 0;

const pendingFile = join(__dirname, 'pending.json');

describe('Contract operations', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  test('are either served or listed as pending', () => {
    const { pending, total } = compareOperations(app.application.get(LeanAdapter).routes.added);
    expect(total).toBe(177);
    expect(JSON.parse(readFileSync(pendingFile, 'utf8'))).toEqual(pending);
    expect(pending.length).toBeLessThanOrEqual(MAX_PENDING);
  });
});
