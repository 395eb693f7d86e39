import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LeanAdapter } from '#product/platform';
import { startTestApp, type TestApp } from '../support/app';
import { compareOperations } from '../../scripts/operations.cjs';

/** Nothing of the contract may be missing. */
const mostPending = 0;

const pendingFile = join(__dirname, 'pending.json');

describe('the operations of the contract', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  test('are served, or are listed as pending; what is served is not listed', () => {
    const { pending, total } = compareOperations(app.application.get(LeanAdapter).routes.added);
    expect(total).toBe(177);
    expect(JSON.parse(readFileSync(pendingFile, 'utf8'))).toEqual(pending);
    expect(pending.length).toBeLessThanOrEqual(mostPending);
  });
});
