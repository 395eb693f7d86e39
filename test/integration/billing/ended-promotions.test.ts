import { Escrow, Ledger } from '#product/billing';
import { PromotionStore } from '#inside/billing/promotions/promotion-store';
import { UserAccount } from '#product/identity';
import { uuidv7 } from '#product/kernel';
import { signIn } from '../../support/people';
import { until } from '../../support/until';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';

const CENT = 10_000_000n;

describe('a promotion that has ended', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  const person = async (role: UserRole = 'user'): Promise<number> => {
    const accounts = app.database.source.getRepository(UserAccount);
    const name = uuidv7();
    const user = accounts.create({ email: `${name}@example.com`, displayName: name, role, status: 'active' });
    await accounts.insert(user);
    return user.id;
  };
  const of = <Service>(service: new (...parts: never[]) => Service): Service =>
    app.application.get(service, { strict: false });
  const balance = async (walletId: number): Promise<bigint> => (await of(Ledger).wallet(walletId)).balance;
  const hold = (walletId: number, amount: bigint) =>
    of(Escrow).hold({ requestId: uuidv7(), amount, refs: [{ kind: 'wallet', id: walletId }] });
  const give = async (walletId: number, amount: bigint, seconds: number | null = null): Promise<number> => {
    const [made] = await app.database.query<{ id: number }>(
      `INSERT INTO promotion_grant (name, scope, user_id, amount, created_by, expires_at)
       VALUES ('gift', 'user', $1, $2, $1, clock_timestamp() + $3::float8 * interval '1 second') RETURNING id`,
      [walletId, amount.toString(), seconds],
    );
    await of(PromotionStore).creditAll(made?.id ?? 0);
    return made?.id ?? 0;
  };
  const end = async (id: number): Promise<void> => {
    await app.database.query(
      `UPDATE promotion_grant SET expires_at = now() - interval '2 days' WHERE id = $1`,
      [id],
    );
    await of(PromotionStore).reclaimAll(id);
  };

  const pay = (walletId: number, amount: bigint): Promise<unknown> =>
    app.database.transaction(
      (tx) => of(Ledger).post(tx, { walletId, amount, against: 'adjustment', kind: 'gift', ref: uuidv7() }),
      { withoutActivity: 'a gift of the test' },
    );
  const hasEnded = (id: number): Promise<number> =>
    until(async () => {
      const [row] = await app.database.query<{ ended: boolean }>(
        'SELECT expires_at <= clock_timestamp() AS ended FROM promotion_grant WHERE id = $1',
        [id],
      );
      return row?.ended === true;
    });

  // "A promotion ended by itself is charged up to 15 s more ($3.18 of $5)": no job has run here.
  test('is not drawn from its end date on, neither from a slice nor from what a request in flight leaves', async () => {
    const walletId = await person();
    const id = await give(walletId, 500n * CENT, 1);
    const running = await hold(walletId, 60n * CENT);
    const served = await hold(walletId, 40n * CENT);
    served.release();
    await hasEnded(id);
    await expect(hold(walletId, CENT)).rejects.toMatchObject({ code: 'billing_limit_reached' });
    running.release();
    await expect(hold(walletId, CENT)).rejects.toMatchObject({ code: 'billing_limit_reached' });
    expect(await balance(walletId)).toBe(500n * CENT);
    await of(PromotionStore).reclaimAll(id);
    expect(await balance(walletId)).toBe(0n);
  });

  test('leaves the paid money of its wallet, all of it', async () => {
    const walletId = await person();
    await pay(walletId, 100n * CENT);
    const id = await give(walletId, 500n * CENT, 1);
    (await hold(walletId, 300n * CENT)).release();
    await hasEnded(id);
    await expect(hold(walletId, 101n * CENT)).rejects.toMatchObject({ code: 'billing_limit_reached' });
    (await hold(walletId, 100n * CENT)).release();
  });

  test('ends for what a node has drawn also if its end date was brought forward', async () => {
    const walletId = await person();
    const id = await give(walletId, 500n * CENT, 3_600);
    (await hold(walletId, 300n * CENT)).release();
    const soon = new Date(Date.now() + 1_000).toISOString();
    const changed = await fetch(`${app.url}/dashboard/admin/promotions/${id}/update`, {
      method: 'POST',
      headers: {
        cookie: await signIn(app, await person('platform_admin')),
        'content-type': 'application/json',
        'sec-fetch-site': 'same-origin',
      },
      body: JSON.stringify({ expires_at: soon }),
    });
    expect(changed.status).toBe(200);
    await hasEnded(id);
    await expect(hold(walletId, CENT)).rejects.toMatchObject({ code: 'billing_limit_reached' });
  });

  test('is not spent out of what a node had drawn of it', async () => {
    const walletId = await person();
    const id = await give(walletId, 27n * CENT);
    // The announcement of the gift has whatever was drawn before it handed back.
    await until(async () => {
      (await hold(walletId, CENT)).release();
      return (await of(Ledger).wallet(walletId)).escrowed > 0n;
    });
    await end(id);
    expect(await balance(walletId)).toBe(0n);
    await expect(hold(walletId, CENT)).rejects.toMatchObject({ code: expect.any(String) });
  });

  test('leaves what is held for a request in flight, and takes it once no such request can be', async () => {
    const walletId = await person();
    const id = await give(walletId, 27n * CENT);
    const running = await hold(walletId, 5n * CENT);
    await end(id);
    expect(await balance(walletId)).toBe(5n * CENT);
    // Other money of the same wallet is drawn and held all the time.
    await pay(walletId, 100n * CENT);
    running.release();
    const busy = await hold(walletId, 50n * CENT);
    await app.database.query(
      `UPDATE promotion_credit SET ended_at = now() - interval '1 day' WHERE grant_id = $1`,
      [id],
    );
    await of(PromotionStore).reclaimAll(id);
    expect(await balance(walletId)).toBe(100n * CENT);
    busy.release();
  });
});
