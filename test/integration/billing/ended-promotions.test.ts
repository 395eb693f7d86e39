import { Escrow, Ledger } from '#product/billing';
import { PromotionBook } from '#inside/billing/promotions/promotion-book';
import { UserAccount } from '#product/identity';
import { uuidv7 } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';

const CENT = 10_000_000n;

describe('a promotion that has ended', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  const person = async (): Promise<number> => {
    const accounts = app.database.source.getRepository(UserAccount);
    const name = uuidv7();
    const user = accounts.create({ email: `${name}@example.com`, displayName: name, status: 'active' });
    await accounts.insert(user);
    return user.id;
  };
  const of = <Service>(service: new (...parts: never[]) => Service): Service =>
    app.application.get(service, { strict: false });
  const balance = async (walletId: number): Promise<bigint> => (await of(Ledger).wallet(walletId)).balance;
  const hold = (walletId: number, amount: bigint) =>
    of(Escrow).hold({ requestId: uuidv7(), amount, refs: [{ kind: 'wallet', id: walletId }] });
  const give = async (walletId: number, amount: bigint): Promise<number> => {
    const [made] = await app.database.query<{ id: number }>(
      `INSERT INTO promotion_grant (name, scope, user_id, amount, created_by) VALUES ('gift', 'user', $1, $2, $1)
       RETURNING id`,
      [walletId, amount.toString()],
    );
    await of(PromotionBook).creditAll(made?.id ?? 0);
    return made?.id ?? 0;
  };
  const end = async (id: number): Promise<void> => {
    await app.database.query(
      `UPDATE promotion_grant SET expires_at = now() - interval '2 days' WHERE id = $1`,
      [id],
    );
    await of(PromotionBook).reclaimAll(id);
  };

  test('is not spent out of what a node had drawn of it', async () => {
    const walletId = await person();
    const id = await give(walletId, 27n * CENT);
    (await hold(walletId, CENT)).release();
    expect((await of(Ledger).wallet(walletId)).escrowed).toBeGreaterThan(0n);
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
    await app.database.transaction(
      (tx) =>
        of(Ledger).post(tx, {
          walletId,
          amount: 100n * CENT,
          against: 'adjustment',
          kind: 'gift',
          ref: uuidv7(),
        }),
      { withoutActivity: 'a gift of the test' },
    );
    running.release();
    const busy = await hold(walletId, 50n * CENT);
    await app.database.query(
      `UPDATE promotion_credit SET ended_at = now() - interval '1 day' WHERE grant_id = $1`,
      [id],
    );
    await of(PromotionBook).reclaimAll(id);
    expect(await balance(walletId)).toBe(100n * CENT);
    busy.release();
  });
});
