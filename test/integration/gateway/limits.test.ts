import { Client } from 'pg';
import { platformScope } from '#product/kernel';
import { Ledger, Limits, verifyMoney } from '#product/billing';
import { Organisation } from '#product/identity';
import { KeysService } from '#product/keys';
import { addCustomer, type Customer } from '../../support/customer';
import { until } from '../../support/until';
import { app, closeFixture, openFixture, supplier } from './gateway-fixture';

const dollar = 1_000_000_000n;

const hoursBetween = (one: string | Date, other: Date | null | undefined): number =>
  Math.abs(Number(new Date(one)) - Number(other)) / 3_600_000;

describe('Spending limits', () => {
  let organisation: number;

  beforeAll(async () => {
    await openFixture();
    const organisations = app.database.source.getRepository(Organisation);
    const row = organisations.create({ name: 'Acme', slug: 'acme' });
    await organisations.insert(row);
    organisation = row.id;
  });
  afterEach(async () => {
    const { checks } = await verifyMoney(app.database);
    expect(checks.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
  });
  afterAll(closeFixture);

  const customer = (name: string, wallet: bigint): Promise<Customer> => addCustomer(app, name, wallet);

  const sendRequest = (key: string, body: object = {}): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sim-large',
        max_tokens: 1_000,
        messages: [{ role: 'user', content: 'x [[tokens=400]]' }],
        ...body,
      }),
    });

  test('empty wallet returns 403 immediately, without a supplier call', async () => {
    const { key } = await customer('poor', 0n);
    await supplier.clearRequests();
    const answer = await sendRequest(key);
    expect(answer.status).toBe(403);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(await answer.json()).toMatchObject({
      error: { code: 'billing_limit_reached', details: { scope: 'wallet', remaining_usd: '0' } },
    });
    expect(await supplier.requests()).toEqual([]);
  });

  test('key budget allows requests until it is spent, then returns 402 with resets_at', async () => {
    const { key, keyId, userId } = await customer('careful', dollar);
    const limits = app.application.get(Limits, { strict: false });
    // 400 tokens at $15 per 1M cost $0.006; the hold for 1,000 tokens needs $0.0226.
    await app.database.transaction((tx) =>
      limits.set(tx, { kind: 'key', id: keyId }, { period: 'daily', limit: 60_000_000n }),
    );
    const answers: Response[] = [];
    for (let call = 0; call < 12; call += 1) answers.push(await sendRequest(key));
    const refusals = answers.filter(({ status }) => status !== 200);
    expect(refusals.map(({ status }) => status)).toEqual(refusals.map(() => 402));
    expect(refusals.length).toBeGreaterThan(0);
    const body = (await refusals[0]?.json()) as { error: { code: string; resets_at: string } };
    expect(body.error.code).toBe('budget_exceeded');
    expect(body.error.resets_at).toMatch(/T00:00:00\.000Z$/);
    const state = await limits.state({ kind: 'key', id: keyId });
    expect(state && state.spent <= 60_000_000n).toBe(true);
    const wallet = await app.application.get(Ledger, { strict: false }).wallet(userId);
    expect(dollar - wallet.balance).toBe(state?.spent);
  });

  test('refusal of a rolling budget resets when its newest spending is thirty days old', async () => {
    const { key, keyId } = await customer('patient', dollar);
    const limits = app.application.get(Limits, { strict: false });
    const ref = { kind: 'key', id: keyId } as const;
    await app.database.transaction((tx) => limits.set(tx, ref, { period: 'rolling', limit: 30_000_000n }));
    const refusal = async (): Promise<string> => {
      const answer = await sendRequest(key);
      if (answer.status === 200) return refusal();
      expect(answer.status).toBe(402);
      return ((await answer.json()) as { error: { resets_at: string } }).error.resets_at;
    };
    // Spent in this hour, or in the last one if an hour has just started.
    const first = await refusal();
    expect(hoursBetween(first, (await limits.state(ref))?.resetsAt)).toBeLessThanOrEqual(1);
    expect(hoursBetween(first, new Date())).toBeGreaterThan(718);
    const owner = new Client(app.environment['MIGRATION_DATABASE_URL']);
    await owner.connect();
    const shiftSpending = (by: string): Promise<unknown> =>
      owner.query(
        `UPDATE spending_bucket b SET hour = hour - $2::interval FROM spending_window w
          WHERE w.id = b.window_id AND w.kind = 'key' AND w.owner_id = $1`,
        [keyId, by],
      );
    await shiftSpending('5 days');
    const state = await limits.state(ref);
    await until(async () => (await refusal()) === state?.resetsAt?.toISOString());
    expect(hoursBetween(state!.resetsAt!, new Date())).toBeLessThanOrEqual(25 * 24);
    await shiftSpending('-5 days');
    await owner.end();
  });

  test('request without max_tokens is capped to the remaining money, and the supplier receives the cap', async () => {
    const { key } = await customer('open-ended', 50_000_000n);
    await supplier.clearRequests();
    const answer = await sendRequest(key, { max_tokens: undefined });
    expect(answer.status).toBe(200);
    const [supplierRequest] = await supplier.requests();
    const body = supplierRequest?.body as { max_completion_tokens?: number; max_tokens?: number };
    const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? 0;
    // $0.05 buys at most 3,333 tokens at $15 per 1M.
    expect(maxTokens).toBeGreaterThan(2_500);
    expect(maxTokens).toBeLessThanOrEqual(3_333);
  });

  test('organisation without a billing user gets 403, never a free request', async () => {
    const { text } = await app.database.transaction((tx) =>
      app.application.get(KeysService, { strict: false }).issue(platformScope, tx, {
        userId: null,
        organisationId: organisation,
        departmentId: null,
        projectId: null,
        kind: 'client',
        name: 'orphan',
        createdBy: 'test',
      }),
    );
    const answer = await sendRequest(text);
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ error: { code: 'billing_limit_reached' } });
  });

  test('failed request costs nothing', async () => {
    const { key, userId } = await customer('unlucky', dollar);
    await supplier.addFault({ times: 1, fault: { kind: 'status', status: 500 } });
    expect((await sendRequest(key)).status).toBeGreaterThanOrEqual(500);
    expect((await app.application.get(Ledger, { strict: false }).wallet(userId)).balance).toBe(dollar);
  });
});
