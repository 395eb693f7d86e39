import { verifyMoney } from '#product/billing';
import { type Simulator, startSimulator } from '../../support/simulator';
import { type Payer, PaymentFixture } from './payment-fixture';

const USD = 1_000_000_000n;
const CREDIT = 5n * USD;

let fixture: PaymentFixture;
let supplier: Simulator;
let payer: Payer;
let key: string;

beforeAll(async () => {
  supplier = await startSimulator();
  fixture = await PaymentFixture.start({}, { sandboxUrl: supplier.url });
  payer = await fixture.payer();
  const keyResponse = await fixture.send('POST', '/dashboard/keys/new', payer, { name: 'spender' });
  key = String(keyResponse.body['key'] ?? keyResponse.body['text']);
});
afterAll(async () => {
  await fixture.close();
  await supplier.stop();
});

const callModel = (): Promise<Response> =>
  fetch(`${fixture.app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sim-large',
      max_tokens: 2_000,
      messages: [{ role: 'user', content: 'spend [[tokens=1000]]' }],
    }),
  });

/**
 * Polls until the wallet is refused for lack of balance; the node learns of the processor's debit with a short delay.
 */
async function waitForRefusal(): Promise<Response> {
  const end = Date.now() + 20_000;
  for (;;) {
    const answer = await callModel();
    if (answer.status !== 200 || Date.now() > end) return answer;
    await answer.arrayBuffer();
  }
}

test('a refund of spent credit leaves a balance due, which blocks requests until a top-up has paid it', async () => {
  const intent = await fixture.topUp(payer, 5);
  expect(await fixture.balance(payer)).toBe(CREDIT);
  const firstResponse = await callModel();
  expect(firstResponse.status).toBe(200);
  expect(Number(firstResponse.headers.get('x-svc-cost-usd'))).toBeGreaterThan(0);

  fixture.simulator.account.refundsAndDisputes.refund(intent);
  await fixture.deliverAll();
  const answer = await waitForRefusal();
  expect([answer.status, await answer.json()]).toMatchObject([
    403,
    { error: { code: 'billing_limit_reached' } },
  ]);
  const debt = await fixture.balance(payer);
  expect(debt).toBeLessThan(0n);

  await fixture.topUp(payer, 10);
  expect(await fixture.balance(payer)).toBe(debt + 10n * USD);
  expect((await callModel()).status).toBe(200);
  const { checks } = await verifyMoney(fixture.app.database);
  expect(checks.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
});

// "A dispute in another currency cannot be taken over". Its amount says nothing about our currency.
test('a dispute in another currency takes the complete credit, and gives it back once it is won', async () => {
  const disputingPayer = await fixture.payer();
  const intent = await fixture.topUp(disputingPayer, 100);
  const { account } = fixture.simulator;
  const dispute = account.refundsAndDisputes.dispute(intent, 9_000);
  account.events.length = 0;
  dispute['currency'] = 'eur';
  account.emit('charge.dispute.created', dispute);
  await fixture.deliverAll();
  expect(await fixture.balance(disputingPayer)).toBe(0n);
  account.refundsAndDisputes.closeDispute(String(dispute.id), 'won');
  await fixture.deliverAll();
  expect(await fixture.balance(disputingPayer)).toBe(100n * USD);
  const { checks } = await verifyMoney(fixture.app.database);
  expect(checks.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
});
