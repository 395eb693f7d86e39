import { verifyMoney } from '#product/billing';
import { type Simulator, startSimulator } from '../../support/simulator';
import { type Payer, PaymentHouse } from './payment-house';

const USD = 1_000_000_000n;
const CREDIT = 5n * USD;

let house: PaymentHouse;
let supplier: Simulator;
let payer: Payer;
let key: string;

beforeAll(async () => {
  supplier = await startSimulator();
  house = await PaymentHouse.start({}, { sandboxUrl: supplier.url });
  payer = await house.payer();
  const made = await house.send('POST', '/dashboard/keys/new', payer, { name: 'spender' });
  key = String(made.body['key'] ?? made.body['text']);
});
afterAll(async () => {
  await house.close();
  await supplier.stop();
});

const ask = (): Promise<Response> =>
  fetch(`${house.app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sim-large',
      max_tokens: 2_000,
      messages: [{ role: 'user', content: 'spend [[tokens=1000]]' }],
    }),
  });

/** The refusal of a wallet without money; the node hears of what the processor took within a moment. */
async function refused(): Promise<Response> {
  const end = Date.now() + 20_000;
  for (;;) {
    const answer = await ask();
    if (answer.status !== 200 || Date.now() > end) return answer;
    await answer.arrayBuffer();
  }
}

test('a refund of spent credit leaves a debt: requests are refused until a top-up has paid it', async () => {
  const intent = await house.topUp(payer, 5);
  expect(await house.balance(payer)).toBe(CREDIT);
  const first = await ask();
  expect(first.status).toBe(200);
  expect(Number(first.headers.get('x-svc-cost-usd'))).toBeGreaterThan(0);

  house.simulator.account.back.refund(intent);
  await house.deliverAll();
  const answer = await refused();
  expect([answer.status, await answer.json()]).toMatchObject([
    403,
    { error: { code: 'billing_limit_reached' } },
  ]);
  const debt = await house.balance(payer);
  expect(debt).toBeLessThan(0n);

  await house.topUp(payer, 10);
  expect(await house.balance(payer)).toBe(debt + 10n * USD);
  expect((await ask()).status).toBe(200);
  const { checks } = await verifyMoney(house.app.database);
  expect(checks.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
});

// "A dispute in another currency cannot be taken over". Its amount says nothing about our currency.
test('a dispute in another currency takes the complete credit, and gives it back once it is won', async () => {
  const disputing = await house.payer();
  const intent = await house.topUp(disputing, 100);
  const { account } = house.simulator;
  const dispute = account.back.dispute(intent, 9_000);
  account.events.length = 0;
  dispute['currency'] = 'eur';
  account.emit('charge.dispute.created', dispute);
  await house.deliverAll();
  expect(await house.balance(disputing)).toBe(0n);
  account.back.closeDispute(String(dispute.id), 'won');
  await house.deliverAll();
  expect(await house.balance(disputing)).toBe(100n * USD);
  const { checks } = await verifyMoney(house.app.database);
  expect(checks.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
});
