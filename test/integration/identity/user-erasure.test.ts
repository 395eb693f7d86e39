import { ActivityLog } from '#product/audit';
import { Ledger } from '#product/billing';
import { UserErasure } from '#product/identity';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser } from '../../support/people';

/** A gateway node is composed without the portal's modules. */
let app: TestApp;

beforeAll(async () => {
  app = await startTestApp({ environment: { SERVE: 'gateway' } });
});
afterAll(() => app.close());

const erase = (userId: number) =>
  app.application.get(ActivityLog).runAudited(
    () => ({ actor: { kind: 'system', label: 'test' }, address: null, requestId: null }),
    ['user.deleted'],
    () => app.application.get(UserErasure).eraseOwn(userId),
  );

const post = (walletId: number, amount: bigint, ref: string) =>
  app.database.transaction((tx) =>
    app.application.get(Ledger).post(tx, { walletId, amount, against: 'adjustment', kind: 'test', ref }),
  );

const statusOf = async (userId: number) =>
  (await app.database.query('SELECT status FROM user_account WHERE id = $1', [userId]))[0];

test('an erasure without AdminModule is refused while the wallet is not empty or keys are live', async () => {
  const userId = await addUser(app);
  const key = await addKey(app, userId);
  await post(userId, 2_500_000_000n, 'in');
  await expect(erase(userId)).rejects.toMatchObject({
    code: 'conflict',
    options: { details: { reason: 'balance', balance: '2.5' } },
  });
  await post(userId, -2_500_000_000n, 'out');
  await expect(erase(userId)).rejects.toMatchObject({
    code: 'conflict',
    options: { details: { reason: 'keys', count: 1 } },
  });
  expect(await statusOf(userId)).toEqual({ status: 'active' });
  await app.database.query("UPDATE api_key SET status = 'revoked' WHERE id = $1", [key.id]);
  await erase(userId);
  expect(await statusOf(userId)).toEqual({ status: 'deleted' });
});

test('an erasure without AdminModule revokes the web chat key and forgets cards', async () => {
  const userId = await addUser(app);
  const { id } = await addKey(app, userId, { kind: 'webchat' });
  await app.database.query('INSERT INTO billing_account (wallet_id, automatic) VALUES ($1, true)', [userId]);
  await erase(userId);
  expect(
    await app.database.query(
      'SELECT k.status, a.automatic FROM api_key k JOIN billing_account a ON a.wallet_id = k.user_id WHERE k.id = $1',
      [id],
    ),
  ).toEqual([{ status: 'revoked', automatic: false }]);
});
