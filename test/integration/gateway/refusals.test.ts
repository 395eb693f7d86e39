import { randomUUID } from 'node:crypto';
import { Refusals } from '#product/audit';
import { verifyMoney } from '#product/billing';
import { Metrics } from '#product/platform';
import { startSimulator, type Simulator } from '../../support/simulator';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer, type Customer } from '../../support/customer';

interface RefusalRow {
  readonly code: string | null;
  readonly model: string | null;
  readonly surface: string;
}

describe('Requests rejected before a supplier call', () => {
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

  const sendRequest = (key: string, body: object = {}, id: string = randomUUID()): Promise<Response> =>
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

  const sendSequentially = async (
    count: number,
    one: (place: number) => Promise<Response>,
  ): Promise<number[]> => {
    const statuses: number[] = [];
    for (let place = 0; place < count; place += 1) statuses.push(await statusOf(one(place)));
    return statuses;
  };

  const rowsOf = ({ keyId }: Customer): Promise<RefusalRow[]> =>
    app.database.query<RefusalRow>('SELECT code, model, surface FROM request_record WHERE key_id = $1', [
      keyId,
    ]);

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

  test('every rejection is counted, a sample is recorded, and the key audit shows both', async () => {
    const customer = await addCustomer(app, 'poor');
    const statuses = await sendSequentially(45, () => sendRequest(customer.key));
    expect(new Set(statuses)).toEqual(new Set([403]));
    expect(await statusOf(sendRequest(customer.key, { messages: 'none' }))).toBe(400);

    const rows = await rowsOf(customer);
    const limitRows = rows.filter(({ code }) => code === 'billing_limit_reached');
    // Records 1, 11, 21, 31 and 41, plus one if a minute ended meanwhile.
    expect(limitRows.length).toBeGreaterThanOrEqual(4);
    expect(limitRows.length).toBeLessThanOrEqual(6);
    expect(rows.length - limitRows.length).toBe(1);

    const { refusals, data } = await auditOf(customer);
    expect(data).toHaveLength(rows.length);
    const [otherRow] = rows.filter(({ code }) => code !== 'billing_limit_reached');
    expect(totals(refusals)).toEqual({ billing_limit_reached: 45, [String(otherRow?.code)]: 1 });
    for (const { hour } of refusals) expect(hour).toMatch(/^\d{4}-\d\d-\d\dT\d\d:00:00\.000Z$/);
    expect((await auditOf(customer, 'to=2020-01-01T00:00:00Z')).refusals).toEqual([]);
    expect((await auditOf(customer, 'from=2099-01-01T00:00:00Z')).refusals).toEqual([]);
  });

  test('rate limit that rejects before the body is read is recorded too', async () => {
    const customer = await addCustomer(app, 'hasty', 10_000_000_000n, { rateLimitRpm: 1 });
    const statuses = await sendSequentially(8, () => sendRequest(customer.key));
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(6);
    const rateLimitRows = (await rowsOf(customer)).filter(({ code }) => code === 'rate_limit_exceeded');
    expect(rateLimitRows.length).toBeGreaterThanOrEqual(1);
    expect(rateLimitRows[0]).toEqual({ code: 'rate_limit_exceeded', model: null, surface: 'chat' });
    const { refusals } = await auditOf(customer);
    expect(totals(refusals).rate_limit_exceeded).toBe(statuses.filter((status) => status === 429).length);
  });

  test('rejection with attempts is always recorded and not counted as a refusal', async () => {
    const customer = await addCustomer(app, 'unlucky', 10_000_000_000n);
    await supplier.addFault({ times: 15, fault: { kind: 'status', status: 400 } });
    await sendSequentially(15, () => sendRequest(customer.key));
    const rows = await rowsOf(customer);
    expect(rows).toHaveLength(15);
    expect((await auditOf(customer)).refusals).toEqual([]);
  });

  test('generation of an unrecorded refusal returns 404 that says it was refused', async () => {
    const customer = await addCustomer(app, 'curious');
    const ids = Array.from({ length: 3 }, () => randomUUID());
    await sendSequentially(3, (place) => sendRequest(customer.key, {}, ids[place]));
    const recordedIds = new Set((await auditOf(customer)).data.map(({ request_id }) => request_id));
    const unrecordedId = ids.find((id) => !recordedIds.has(id));
    const answer = await fetch(`${app.url}/v1/generations/${unrecordedId}`, {
      headers: { authorization: `Bearer ${customer.key}` },
    });
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({
      error: { code: 'not_found', param: 'request_id', message: expect.stringContaining('refused') },
    });
  });

  test('generation is the executed request even if its id was refused later', async () => {
    const customer = await addCustomer(app, 'again', 10_000_000_000n, { rateLimitRpm: 1 });
    const id = randomUUID();
    expect(await sendSequentially(2, () => sendRequest(customer.key, {}, id))).toEqual([200, 429]);
    expect(await rowsOf(customer)).toHaveLength(2);
    const answer = await fetch(`${app.url}/v1/generations/${id}`, {
      headers: { authorization: `Bearer ${customer.key}` },
    });
    expect(await answer.json()).toMatchObject({ status: 200 });
  });

  test('metrics count rejections by code', async () => {
    const text = await app.application.get(Metrics).text();
    expect(text).toMatch(/gateway_rejections_total\{reason="billing_limit_reached"\} \d+/);
    expect(text).toMatch(/gateway_rejections_total\{reason="rate_limit_exceeded"\} \d+/);
  });

  test('counts are deleted with dropped months, and money does not depend on them', async () => {
    await app.application.get(Refusals, { strict: false }).deleteBefore(new Date(Date.now() + 3_600_000));
    expect(await app.database.query('SELECT * FROM refusal_hour')).toEqual([]);
    expect((await verifyMoney(app.database)).addsUp).toBe(true);
  });

  test('counts are written when the service stops', async () => {
    const { DATABASE_URL: url = '', MIGRATION_DATABASE_URL: ownerUrl = '' } = app.environment;
    const stoppingNode = await startTestApp({
      sandboxUrl: supplier.url,
      sharedDatabase: { url, ownerUrl },
    });
    const customer = await addCustomer(stoppingNode, 'leaving');
    const refusal = await fetch(`${stoppingNode.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${customer.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-large', messages: [{ role: 'user', content: 'x' }] }),
    });
    expect(refusal.status).toBe(403);
    await stoppingNode.close();
    const rows = await app.database.query('SELECT code, count FROM refusal_hour WHERE key_id = $1', [
      customer.keyId,
    ]);
    expect(rows).toEqual([{ code: 'billing_limit_reached', count: '1' }]);
  });
});
