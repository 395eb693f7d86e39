import {
  linesOf,
  wrongLedger,
  wrongPayments,
  wrongRequests,
  wrongStatement,
} from '../../../proofs/invoices/audit/files';
import { fillBooks } from '../../../proofs/money/broken-books/filled-books';
import { startTestApp, type TestApp } from '../../support/app';
import { signIn } from '../../support/users';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';

/** Data set with fees, mark-ups, cached tokens, and top-ups with a refund and a dispute. */
let filledDatabase: TestDatabase;
let app: TestApp;
let ann: string;
let ben: string;

beforeAll(async () => {
  filledDatabase = await createTestDatabase();
  await fillBooks(filledDatabase);
  app = await startTestApp({
    sharedDatabase: filledDatabase,
    environment: { ROOT_KEY: 'svc_root_of_recomputed_files' },
  });
  [ann, ben] = [await cookieOf('ann'), await cookieOf('ben')];
});
afterAll(async () => {
  await app.close();
  await filledDatabase.drop();
});

const cookieOf = async (name: string): Promise<string> => {
  const [row] = await app.database.query<{ id: number }>('SELECT id FROM user_account WHERE email = $1', [
    `${name}@example.com`,
  ]);
  return signIn(app, row?.id ?? 0);
};
const file = async (path: string, cookie: string): Promise<string> => {
  const answer = await fetch(app.url + path, { headers: { cookie } });
  expect([path, answer.status]).toEqual([path, 200]);
  return answer.text();
};

test('the cost of each log line equals the value computed from its fields', async () => {
  const log = await file('/dashboard/request-log/export?days=30', ann);
  const lines = linesOf(log);
  expect(lines.length).toBeGreaterThan(8);
  expect(new Set(lines.map((line) => line['price_factor']))).toEqual(new Set(['', '1.1']));
  expect(lines.some((line) => line['tool_uses']?.startsWith('web_search'))).toBe(true);
  expect(wrongRequests(log)).toEqual([]);
});

test('statements, ledger and payments equal the sums of their lines', async () => {
  for (const cookie of [ann, ben]) {
    const statement = await file('/dashboard/billing/statements/export', cookie);
    expect(wrongStatement(statement)).toEqual([]);
    expect(wrongLedger(await file('/dashboard/billing/ledger/export', cookie))).toEqual([]);
    const payments = await file('/dashboard/billing/payments/export', cookie);
    expect(linesOf(payments).length).toBeGreaterThan(0);
    expect(wrongPayments(payments)).toEqual([]);
  }
});
