import { Organisation, UserAccount } from '#product/identity';
import { parseUsd } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer, type Customer } from '../../support/customer';
import { addUser, signIn } from '../../support/users';
import { startSimulator, type Simulator } from '../../support/simulator';
import { type ApiResponse, call } from '../keys/http';
import { sendJson } from '../web/page-requests';
import { sendRaw } from '../web/raw-exchange';
import { until } from '../../support/until';

interface MarkupGeneration {
  readonly cost: string;
  readonly price_factor: string | null;
  readonly price_id: number;
  readonly prices: Readonly<Record<string, { readonly input: string; readonly output: string }>>;
  readonly uncached_input_tokens: number;
  readonly visible_output_tokens: number;
}

let supplier: Simulator;
let app: TestApp;
let platform: string;
let organisationId: number;
let customer: Customer;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url });
  platform = await signIn(app, await addUser(app, 'platform_admin'));
  const organisations = app.database.source.getRepository(Organisation);
  const row = organisations.create({ name: 'One', slug: 'one' });
  await organisations.insert(row);
  organisationId = row.id;
  customer = await addCustomer(app, 'buyer', parseUsd('10'));
  await app.database.source.getRepository(UserAccount).update(customer.userId, { organisationId });
  await app.database.query('UPDATE api_key SET organisation_id = $1 WHERE id = $2', [
    organisationId,
    customer.keyId,
  ]);
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

const setMarkup = (body: object, as = platform) =>
  sendJson({ url: app.url, cookie: as }, `/dashboard/admin/organisations/${organisationId}/markup`, body);

const chat = (): Promise<ApiResponse> =>
  call(app, customer.key, 'POST', '/v1/chat/completions', {
    model: 'sim-small',
    max_tokens: 30,
    messages: [{ role: 'user', content: 'Hi [[tokens=20]]' }],
  });

async function fetchGeneration(): Promise<MarkupGeneration> {
  const answer = await chat();
  expect(answer.status).toBe(200);
  const id = answer.headers.get('x-request-id') ?? '';
  let latest: ApiResponse<MarkupGeneration> | null = null;
  await until(async () => {
    latest = await call<MarkupGeneration>(app, customer.key, 'GET', `/v1/generations/${id}`);
    return latest.status === 200;
  });
  return latest!.body;
}

/** Cost as a payer computes it from the record alone: in nano-dollars, rounded up once. */
function recomputeCost({ prices, price_id, price_factor, ...tokens }: MarkupGeneration): bigint {
  const price = prices[String(price_id)]!;
  const perMillion =
    BigInt(tokens.uncached_input_tokens) * parseUsd(price.input) +
    BigInt(tokens.visible_output_tokens) * parseUsd(price.output);
  const factor = parseUsd(price_factor ?? '1');
  const scale = 1_000_000n * 1_000_000_000n;
  return (perMillion * factor + scale - 1n) / scale;
}

const priceOf = async () => {
  const { body } = await call<{ price: { input: string } }>(app, customer.key, 'GET', '/v1/models/sim-small');
  return body.price.input;
};

test('prices include a mark-up or discount, and every record recomputes its charge', async () => {
  const plainGeneration = await fetchGeneration();
  expect(plainGeneration.price_factor).toBeNull();
  expect(parseUsd(plainGeneration.cost)).toBe(recomputeCost(plainGeneration));
  for (const [percent, factor, input] of [
    ['12.3456', '1.123456', '0.1685184'],
    [-5, '0.95', '0.1425'],
    ['-100', '0', '0'],
    ['0', null, '0.15'],
  ] as const) {
    expect(await setMarkup({ percent, reason: 'contract 7' })).toMatchObject({ status: 200 });
    expect(await priceOf()).toBe(input);
    const record = await fetchGeneration();
    expect(record.price_factor).toBe(factor);
    expect(parseUsd(record.cost)).toBe(recomputeCost(record));
  }
  const rows = await app.database.query<{ reason: string }>(
    "SELECT reason FROM activity WHERE action = 'organisation.markup-changed'",
  );
  expect(rows).toHaveLength(4);
});

test('future mark-up starts at its instant; a second at that instant and one in the past return 409', async () => {
  const soon = new Date(Date.now() + 4_000).toISOString();
  expect(await setMarkup({ percent: '100', valid_from: soon })).toMatchObject({
    status: 200,
    json: { price_factor: '2' },
  });
  expect((await setMarkup({ percent: '50', valid_from: soon })).status).toBe(409);
  expect((await setMarkup({ percent: '50', valid_from: '2020-01-01' })).status).toBe(409);
  expect(await priceOf()).toBe('0.15');
  await until(async () => (await priceOf()) === '0.3');
  const record = await fetchGeneration();
  expect(record.price_factor).toBe('2');
  expect(parseUsd(record.cost)).toBe(recomputeCost(record));
  await setMarkup({ percent: '0' });
});

test('hold includes the mark-up, so that the wallet never goes below zero', async () => {
  await setMarkup({ percent: '900' });
  expect(await priceOf()).toBe('1.5');
  const poorCustomer = await addCustomer(app, 'poor', parseUsd('0.003'));
  await app.database.query('UPDATE api_key SET organisation_id = $1 WHERE id = $2', [
    organisationId,
    poorCustomer.keyId,
  ]);
  await Promise.all(
    Array.from({ length: 30 }, () =>
      call(app, poorCustomer.key, 'POST', '/v1/chat/completions', {
        model: 'sim-small',
        max_tokens: 30,
        messages: [{ role: 'user', content: 'Hi [[tokens=30]]' }],
      }),
    ),
  );
  const [row] = await app.database.query<{ spent: string }>(
    'SELECT sum(cost_nano) AS spent FROM request_record WHERE wallet_id = $1',
    [poorCustomer.userId],
  );
  expect(BigInt(row!.spent)).toBeGreaterThan(0n);
  expect(BigInt(row!.spent)).toBeLessThanOrEqual(parseUsd('0.003'));
  await setMarkup({ percent: '0' });
});

test.each([['abc'], ['-101'], ['901'], ['1.23456'], ['']])(
  '%s per cent is rejected with 422',
  async (percent) => {
    expect((await setMarkup({ percent })).status).toBe(422);
  },
);

test('only platform administrators set a mark-up, and its page lists the versions', async () => {
  const owner = await addUser(app, 'org_owner');
  await app.database.source.getRepository(UserAccount).update(owner, { organisationId });
  expect((await setMarkup({ percent: '-50' }, await signIn(app, owner))).status).toBe(403);
  const page = await sendRaw(app.url, {
    path: `/dashboard/admin/organisations/${organisationId}/markup`,
    headers: { cookie: platform, accept: 'text/html' },
  });
  expect(page.status).toBe(200);
  expect(page.body).toContain('+12.3456 %');
  expect(page.body).toContain('contract 7');
});
