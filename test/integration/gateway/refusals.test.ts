import { randomUUID } from 'node:crypto';
import { Refusals } from '#product/audit';
import { verifyMoney } from '#product/billing';
import { Metrics } from '#product/platform';
import { startSimulator, type Simulator } from '../../support/simulator';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer, type Customer } from '../../support/customer';

interface Row {
  readonly code: string | null;
  readonly model: string | null;
  readonly surface: string;
}

describe('requests that are refused before a supplier is asked', () => {
  let app: TestApp;
  let supplier: Simulator;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url, environment: { REFUSAL_SAMPLE: '10' } });
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  const ask = (key: string, body: object = {}, id: string = randomUUID()): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': id },
      body: JSON.stringify({
        model: 'sim-large',
        max_tokens: 20,
        messages: [{ role: 'user', content: 'x [[tokens=5]]' }],
        ...body,
      }),
    });

  const statusOf = async (answer: Promise<Response>): Promise<number> => {
    const { status, body } = await answer;
    await body?.cancel();
    return status;
  };

  const many = async (count: number, one: (place: number) => Promise<Response>): Promise<number[]> => {
    const statuses: number[] = [];
    for (let place = 0; place < count; place += 1) statuses.push(await statusOf(one(place)));
    return statuses;
  };

  const rowsOf = ({ keyId }: Customer): Promise<Row[]> =>
    app.database.query<Row>('SELECT code, model, surface FROM request_record WHERE key_id = $1', [keyId]);

  const auditOf = async (
    { keyId }: Customer,
    query = '',
  ): Promise<{
    refusals: { code: string; hour: string; count: number }[];
    data: { request_id: string }[];
  }> => {
    const [row] = await app.database.query<{ public_id: string }>(
      'SELECT public_id FROM api_key WHERE id = $1',
      [keyId],
    );
    const answer = await fetch(`${app.url}/v1/manage/keys/${row?.public_id}/audit?${query}`, {
      headers: { authorization: `Bearer ${app.firstKeys?.root}` },
    });
    return (await answer.json()) as Awaited<ReturnType<typeof auditOf>>;
  };

  const totals = (refusals: readonly { code: string; count: number }[]): Record<string, number> => {
    const sums: Record<string, number> = {};
    for (const { code, count } of refusals) sums[code] = (sums[code] ?? 0) + count;
    return sums;
  };

  test('all are counted, few are records, and the key audit shows both', async () => {
    const customer = await addCustomer(app, 'poor');
    const statuses = await many(45, () => ask(customer.key));
    expect(new Set(statuses)).toEqual(new Set([403]));
    expect(await statusOf(ask(customer.key, { messages: 'none' }))).toBe(400);

    const rows = await rowsOf(customer);
    const spent = rows.filter(({ code }) => code === 'billing_limit_reached');
    // The first, and the 11th, 21st, 31st and 41st; one more where a minute ended meanwhile.
    expect(spent.length).toBeGreaterThanOrEqual(4);
    expect(spent.length).toBeLessThanOrEqual(6);
    expect(rows.length - spent.length).toBe(1);

    const { refusals, data } = await auditOf(customer);
    expect(data).toHaveLength(rows.length);
    const [other] = rows.filter(({ code }) => code !== 'billing_limit_reached');
    expect(totals(refusals)).toEqual({ billing_limit_reached: 45, [String(other?.code)]: 1 });
    for (const { hour } of refusals) expect(hour).toMatch(/^\d{4}-\d\d-\d\dT\d\d:00:00\.000Z$/);
    expect((await auditOf(customer, 'to=2020-01-01T00:00:00Z')).refusals).toEqual([]);
    expect((await auditOf(customer, 'from=2099-01-01T00:00:00Z')).refusals).toEqual([]);
  });

  test('a rate limit that refuses before the body is read is on record as well', async () => {
    const customer = await addCustomer(app, 'hasty', 10_000_000_000n, { rateLimitRpm: 1 });
    const statuses = await many(8, () => ask(customer.key));
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(6);
    const refused = (await rowsOf(customer)).filter(({ code }) => code === 'rate_limit_exceeded');
    expect(refused.length).toBeGreaterThanOrEqual(1);
    expect(refused[0]).toEqual({ code: 'rate_limit_exceeded', model: null, surface: 'chat' });
    const { refusals } = await auditOf(customer);
    expect(totals(refusals).rate_limit_exceeded).toBe(statuses.filter((status) => status === 429).length);
  });

  test('a refusal that had attempts is always a record, and is not counted as one', async () => {
    const customer = await addCustomer(app, 'unlucky', 10_000_000_000n);
    await supplier.addFault({ times: 15, fault: { kind: 'status', status: 400 } });
    await many(15, () => ask(customer.key));
    const rows = await rowsOf(customer);
    expect(rows).toHaveLength(15);
    expect((await auditOf(customer)).refusals).toEqual([]);
  });

  test('one that was not kept is told apart from one that is not settled', async () => {
    const customer = await addCustomer(app, 'curious');
    const ids = Array.from({ length: 3 }, () => randomUUID());
    await many(3, (place) => ask(customer.key, {}, ids[place]));
    const kept = new Set((await auditOf(customer)).data.map(({ request_id }) => request_id));
    const lost = ids.find((id) => !kept.has(id));
    const answer = await fetch(`${app.url}/v1/generations/${lost}`, {
      headers: { authorization: `Bearer ${customer.key}` },
    });
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({
      error: { code: 'not_found', param: 'request_id', message: expect.stringContaining('refused') },
    });
  });

  test('a generation is the request that was carried out, also where its id was refused later', async () => {
    const customer = await addCustomer(app, 'again', 10_000_000_000n, { rateLimitRpm: 1 });
    const id = randomUUID();
    expect(await many(2, () => ask(customer.key, {}, id))).toEqual([200, 429]);
    expect(await rowsOf(customer)).toHaveLength(2);
    const answer = await fetch(`${app.url}/v1/generations/${id}`, {
      headers: { authorization: `Bearer ${customer.key}` },
    });
    expect(await answer.json()).toMatchObject({ status: 200 });
  });

  test('metrics count them by code, of whatever status', async () => {
    const text = await app.application.get(Metrics).text();
    expect(text).toMatch(/gateway_rejections_total\{reason="billing_limit_reached"\} \d+/);
    expect(text).toMatch(/gateway_rejections_total\{reason="rate_limit_exceeded"\} \d+/);
  });

  test('counts go with the records of dropped months, and money does not depend on them', async () => {
    await app.application.get(Refusals, { strict: false }).deleteBefore(new Date(Date.now() + 3_600_000));
    expect(await app.database.query('SELECT * FROM refusal_hour')).toEqual([]);
    expect((await verifyMoney(app.database)).addsUp).toBe(true);
  });

  test('what is counted when the service stops is written', async () => {
    const { DATABASE_URL: url = '', MIGRATION_DATABASE_URL: ownerUrl = '' } = app.environment;
    const second = await startTestApp({
      sandboxUrl: supplier.url,
      sharedDatabase: { url, ownerUrl },
    });
    const customer = await addCustomer(second, 'leaving');
    const refused = await fetch(`${second.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-large', messages: [{ role: 'user', content: 'x' }] }),
    });
    expect(refused.status).toBe(403);
    await second.close();
    const rows = await app.database.query('SELECT code, count FROM refusal_hour WHERE key_id = $1', [
      customer.keyId,
    ]);
    expect(rows).toEqual([{ code: 'billing_limit_reached', count: '1' }]);
  });
});
