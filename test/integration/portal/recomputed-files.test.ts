import {
  linesOf,
  wrongLedger,
  wrongPayments,
  wrongRequests,
  wrongStatement,
} from '../../../proofs/invoices/audit/files';
import { fillBooks } from '../../../proofs/money/broken-books/filled-books';
import { startTestApp, type TestApp } from '../../support/app';
import { signIn } from '../../support/people';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';

/** Calls with fees, mark-ups and cached tokens; top-ups with a refund and a dispute. */
let filled: TestDatabase;
let app: TestApp;
let ann: string;
let ben: string;

beforeAll(async () => {
  filled = await createTestDatabase();
  await fillBooks(filled);
  app = await startTestApp({
    sharedDatabase: filled,
    environment: { ROOT_KEY: 'svc_root_of_recomputed_files' },
  });
  [ann, ben] = [await cookieOf('ann'), await cookieOf('ben')];
});
afterAll(async () => {
  await app.close();
  await filled.drop();
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

test('each line of the log costs what its own fields come to', async () => {
  const log = await file('/dashboard/request-log/export?days=30', ann);
  const lines = linesOf(log);
  expect(lines.length).toBeGreaterThan(8);
  expect(new Set(lines.map((line) => line['price_factor']))).toEqual(new Set(['', '1.1']));
  expect(lines.some((line) => line['tool_uses']?.startsWith('web_search'))).toBe(true);
  expect(wrongRequests(log)).toEqual([]);
});

test('statements, ledger and payments add up by their own lines', async () => {
  for (const cookie of [ann, ben]) {
    const statement = await file('/dashboard/billing/statements/export', cookie);
    expect(wrongStatement(statement)).toEqual([]);
    expect(wrongLedger(await file('/dashboard/billing/ledger/export', cookie))).toEqual([]);
    const payments = await file('/dashboard/billing/payments/export', cookie);
    expect(linesOf(payments).length).toBeGreaterThan(0);
    expect(wrongPayments(payments)).toEqual([]);
  }
});
