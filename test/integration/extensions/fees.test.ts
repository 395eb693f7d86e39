import { mispricedRecords } from '#product/catalogue';
import { parseUsd, parseUsdPerMillion } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { signIn } from '../../support/users';
import { TestCatalogue } from '../gateway/test-catalogue';
import { FixedResponseSupplier } from '../gateway/fixed-response-supplier';

const usd = parseUsdPerMillion;

let app: TestApp;
let supplier: FixedResponseSupplier;

beforeAll(async () => {
  supplier = await FixedResponseSupplier.start();
  app = await startTestApp({
    environment: { SUPPLIER_ALLOW: '127.0.0.1', EXTENSIONS: './test/fixtures/extensions/fees.cjs' },
  });
  const catalogue = new TestCatalogue(app);
  for (const region of ['eu', 'us']) {
    await catalogue.provider({
      name: region,
      style: 'openai-style',
      settings: { profile: 'openai' },
      baseUrl: supplier.url,
      regions: [region],
      credentials: [{ label: 'one', kind: 'bearer', secret: 'sim-canary-of-ours' }],
    });
    await catalogue.model(`in-${region}`, [{ provider: region, region }], {
      input: usd('3'),
      output: usd('7'),
    });
  }
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

const usage = { prompt_tokens: 1_001, completion_tokens: 77, total_tokens: 1_078 };

async function sendChat(model: string, tags: string[] = [], key = app.firstKeys!.demo) {
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

/** Expected cost in nano-dollars from rates per 1M tokens; a fraction is rounded up. */
const expectedCost = (input: bigint, output: bigint, perCall = 0n): string =>
  ((1_001n * input + 77n * output + 999_999n) / 1_000_000n + perCall).toString();

test('a request without a fee costs its price, and its record has no surcharges', async () => {
  const { status, record } = await sendChat('in-eu');
  expect(status).toBe(200);
  expect(record).toEqual({ cost_nano: expectedCost(3_000_000_000n, 7_000_000_000n), surcharges: null });
});

test('a per-call fee and a per-token fee are charged and recorded', async () => {
  const { record, cost } = await sendChat('in-us');
  const expected = expectedCost(3_001_500_000n, 7_001_500_000n, 250n);
  expect(record).toEqual({
    cost_nano: expected,
    surcharges: [
      {
        name: 'fees/carbon',
        per_call: '250',
        per_million_tokens: '1500000',
        share: 0,
        // 1,078 tokens at 1.5 nano-dollars each, plus 250 for the call.
        cost_nano: '1867',
      },
    ],
  });
  expect(cost).toBe(`0.${expected.padStart(9, '0')}`.replace(/0+$/, ''));
});

test('several fees add up, and a share applies to the price only', async () => {
  const { record } = await sendChat('in-us', ['shared']);
  expect(record?.cost_nano).toBe(expectedCost(3_376_500_000n, 7_876_500_000n, 250n));
});

// "fees are invisible to who pays them" … "fees as lines in record, page and `generations`".
test('the payer sees each fee as a line of the request, in the API and on the page', async () => {
  const { userId, key } = await addCustomer(app, 'reader', parseUsd('1'));
  const { record, requestId } = await sendChat('in-us', ['shared'], key);
  const response = await fetch(`${app.url}/v1/generations/${requestId}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const { fees } = (await response.json()) as { fees: { name: string; cost_usd: number; cost: string }[] };
  expect(fees.map(({ name }) => name)).toEqual(['fees/carbon', 'fees/department']);
  const feeNano = (record?.surcharges as { cost_nano: string }[]).map((fee) => BigInt(fee.cost_nano));
  expect(fees.map(({ cost }) => parseUsd(cost))).toEqual(feeNano);
  // Fees and price add up to the charge.
  const priceNano = BigInt(expectedCost(3_000_000_000n, 7_000_000_000n));
  expect(feeNano.reduce((sum, fee) => sum + fee, priceNano)).toBe(BigInt(record?.cost_nano ?? 0));

  const page = await fetch(`${app.url}/dashboard/request-log?open=${requestId}`, {
    headers: { accept: 'text/html', cookie: await signIn(app, userId) },
  });
  const html = await page.text();
  expect(page.status).toBe(200);
  for (const { name } of fees) expect(html).toContain(`Fee ${name}`);
});

test.each(['throws', 'rubbish', 'waits'])(
  'a fee that %s refuses the request and is named in the error',
  async (tag) => {
    const { status, body } = await sendChat('in-eu', [tag]);
    expect(status).toBe(503);
    expect(body.error).toMatchObject({
      code: 'supplier_price_unresolved',
      details: { fee: 'fees/broken' },
    });
    expect(supplier.requests).toHaveLength(0);
  },
);

test('fees are included in the hold: a wallet that covers only the price is refused', async () => {
  const { key } = await addCustomer(app, 'payer', parseUsd('0.5'));
  expect((await sendChat('in-eu', [], key)).status).toBe(200);
  const refusal = await sendChat('in-eu', ['dear'], key);
  expect(refusal.status).toBe(403);
  expect(refusal.body.error?.code).toBe('billing_limit_reached');
  expect(supplier.requests).toHaveLength(0);
});

test('recomputing the records with their fees finds no mispriced record', async () => {
  const mispriced = [];
  for await (const record of mispricedRecords(app.database)) mispriced.push(record);
  expect(mispriced).toEqual([]);
});
