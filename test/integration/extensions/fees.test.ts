import { mispricedRecords } from '#product/catalogue';
import { parseUsd, parseUsdPerMillion } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { signIn } from '../../support/people';
import { ModelShelf } from '../gateway/model-shelf';
import { ScriptedSupplier } from '../gateway/scripted-supplier';

const usd = parseUsdPerMillion;

let app: TestApp;
let supplier: ScriptedSupplier;

beforeAll(async () => {
  supplier = await ScriptedSupplier.start();
  app = await startTestApp({
    environment: { SUPPLIER_ALLOW: '127.0.0.1', EXTENSIONS: './test/fixtures/extensions/fees.cjs' },
  });
  const shelf = new ModelShelf(app);
  for (const region of ['eu', 'us']) {
    await shelf.provider({
      name: region,
      style: 'openai-style',
      settings: { profile: 'openai' },
      baseUrl: supplier.url,
      regions: [region],
      credentials: [{ label: 'one', kind: 'bearer', secret: 'sim-canary-of-ours' }],
    });
    await shelf.model(`in-${region}`, [{ provider: region, region }], { input: usd('3'), output: usd('7') });
  }
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

const usage = { prompt_tokens: 1_001, completion_tokens: 77, total_tokens: 1_078 };

async function ask(model: string, tags: string[] = [], key = app.firstKeys!.demo) {
  supplier.requests.length = 0;
  supplier.answer = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'sim-large',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    usage,
  };
  const answer = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }], metadata: { tags } }),
  });
  const body = (await answer.json()) as { error?: { code: string; details?: object } };
  const [record] = await app.database.query<{ cost_nano: string; surcharges: object | null }>(
    'SELECT cost_nano, surcharges FROM request_record WHERE request_id = $1',
    [answer.headers.get('x-request-id')],
  );
  const requestId = answer.headers.get('x-request-id') ?? '';
  return { status: answer.status, body, record, requestId, cost: answer.headers.get('x-svc-cost-usd') };
}

/** By hand: rates are nano-dollars for a million tokens, a part of a nano-dollar counts whole. */
const costBy = (input: bigint, output: bigint, perCall = 0n): string =>
  ((1_001n * input + 77n * output + 999_999n) / 1_000_000n + perCall).toString();

test('what no fee falls on costs its price, and the record names none', async () => {
  const { status, record } = await ask('in-eu');
  expect(status).toBe(200);
  expect(record).toEqual({ cost_nano: costBy(3_000_000_000n, 7_000_000_000n), surcharges: null });
});

test('a fee a call and a fee a token are charged, and stand in the record', async () => {
  const { record, cost } = await ask('in-us');
  const expected = costBy(3_001_500_000n, 7_001_500_000n, 250n);
  expect(record).toEqual({
    cost_nano: expected,
    surcharges: [
      {
        name: 'fees/carbon',
        per_call: '250',
        per_million_tokens: '1500000',
        share: 0,
        // 1,078 tokens at 1.5 nano-dollars each, and 250 for the call.
        cost_nano: '1867',
      },
    ],
  });
  expect(cost).toBe(`0.${expected.padStart(9, '0')}`.replace(/0+$/, ''));
});

test('several fees add up, and a share is one of the price alone', async () => {
  const { record } = await ask('in-us', ['shared']);
  expect(record?.cost_nano).toBe(costBy(3_376_500_000n, 7_876_500_000n, 250n));
});

// "fees are invisible to who pays them" … "fees as lines in record, page and `generations`".
test('the payer sees each fee as a line of the request, in the API and on the page', async () => {
  const { userId, key } = await addCustomer(app, 'reader', parseUsd('1'));
  const { record, requestId } = await ask('in-us', ['shared'], key);
  const response = await fetch(`${app.url}/v1/generations/${requestId}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const { fees } = (await response.json()) as { fees: { name: string; cost_usd: number; cost: string }[] };
  expect(fees.map(({ name }) => name)).toEqual(['fees/carbon', 'fees/department']);
  const nano = (record?.surcharges as { cost_nano: string }[]).map((fee) => BigInt(fee.cost_nano));
  expect(fees.map(({ cost }) => parseUsd(cost))).toEqual(nano);
  // Together with the price alone, they are the charge.
  const alone = BigInt(costBy(3_000_000_000n, 7_000_000_000n));
  expect(nano.reduce((sum, fee) => sum + fee, alone)).toBe(BigInt(record?.cost_nano ?? 0));

  const page = await fetch(`${app.url}/dashboard/request-log?open=${requestId}`, {
    headers: { accept: 'text/html', cookie: await signIn(app, userId) },
  });
  const html = await page.text();
  expect(page.status).toBe(200);
  for (const { name } of fees) expect(html).toContain(`Fee ${name}`);
});

test.each(['throws', 'rubbish', 'waits'])('a fee that %s refuses the request, by its name', async (tag) => {
  const { status, body } = await ask('in-eu', [tag]);
  expect(status).toBe(503);
  expect(body.error).toMatchObject({
    code: 'supplier_price_unresolved',
    details: { fee: 'fees/broken' },
  });
  expect(supplier.requests).toHaveLength(0);
});

test('a fee is held for: a wallet that covers the price alone is not enough', async () => {
  const { key } = await addCustomer(app, 'payer', parseUsd('0.5'));
  expect((await ask('in-eu', [], key)).status).toBe(200);
  const refused = await ask('in-eu', ['dear'], key);
  expect(refused.status).toBe(403);
  expect(refused.body.error?.code).toBe('billing_limit_reached');
  expect(supplier.requests).toHaveLength(0);
});

test('the records are priced again with their fees, and none differs', async () => {
  const wrong = [];
  for await (const record of mispricedRecords(app.database)) wrong.push(record);
  expect(wrong).toEqual([]);
});
