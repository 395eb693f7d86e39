import { deliver } from '../../../../simulator/processor/processor-simulator';
import { type ReadResponse, type Client, expect } from '../../../operations/http';
import type { PortalUser, World } from '../../../operations/world';
import { openPoint, row, type SpecificationRow } from '../../row';
import {
  type Json,
  callTo,
  call,
  equal,
  expectInvalid,
  okJson,
  expectRejected,
  refusesAnonymous,
  waitUntilServed,
} from './row-helpers';

/** Session id of the hosted checkout page. */
function sessionIn(answer: ReadResponse): string {
  const { ok, url } = okJson(answer);
  equal(ok, true, 'ok');
  expect(typeof url === 'string' && URL.canParse(url), `the address of the checkout: ${String(url)}`);
  return String(url).split('/').at(-1) ?? '';
}

async function deliverAll(world: World): Promise<void> {
  for (const event of world.processor.account.events.splice(0))
    equal((await deliver(world.url, event)).status, 200, 'the answer to an event');
}

/** The balance in dollars: credits of the wallet less charges. */
async function balanceOf(world: World, { userId }: PortalUser): Promise<number> {
  const [sum] = await world.rows<{ balance: string }>(
    `SELECT coalesce(sum(e.amount), 0)::text AS balance FROM ledger_entry e
       JOIN ledger_account a ON a.id = e.account_id WHERE a.kind = 'wallet' AND a.owner_id = $1`,
    [userId],
  );
  return Number(sum?.balance ?? 0) / 1e9;
}

const checkout = (client: Client, amount: unknown, path = '/api/billing/checkout'): Promise<ReadResponse> =>
  client.post(path, { json: { amount } });

/** A user with 25 dollars and a card. */
export async function customer(world: World): Promise<PortalUser> {
  const person = await world.newPerson({ billingExempt: false });
  world.processor.account.pay(sessionIn(await checkout(person.client, 25)));
  await deliverAll(world);
  return person;
}

interface PaymentCard {
  readonly id: string;
  readonly row_id: number;
  readonly default: boolean;
}

const cardsOf = async ({ client }: PortalUser): Promise<readonly PaymentCard[]> =>
  okJson(await client.get('/api/billing/payment-methods'))['data'] as PaymentCard[];

async function cardOf(person: PortalUser): Promise<PaymentCard> {
  const [card] = await cardsOf(person);
  expect(card !== undefined, 'the payment left a card');
  return card;
}

/** A user with two cards; the second is not the default. */
async function twoCards(world: World): Promise<{ person: PortalUser; second: PaymentCard }> {
  const person = await customer(world);
  const setup = sessionIn(await person.client.post('/api/billing/payment-method'));
  world.processor.account.pay(setup, '5555555555554444');
  await deliverAll(world);
  const second = (await cardsOf(person)).find((card) => !card.default);
  expect(second !== undefined, 'a second card');
  return { person, second };
}

const chargedAmount = (world: World, session: string): unknown =>
  world.processor.account.sessions.get(session)?.['amount_total'];

const topUps: readonly SpecificationRow[] = [
  row(
    '4.10',
    '`POST /api/billing/checkout` takes `{amount}` and answers `{ok: true, url}`',
    async (world) => {
      const { client } = await world.newPerson();
      const answer = await checkout(client, 50);
      const session = sessionIn(answer);
      expect(world.processor.account.sessions.has(session), 'the address is that of a hosted checkout');
      await refusesAnonymous(world, callTo('POST', '/api/billing/checkout', { json: { amount: 50 } }));
    },
  ),
  row(
    '4.10',
    '`amount` of `POST /api/billing/checkout` is what the wallet is credited, in USD',
    async (world) => {
      const person = await world.newPerson();
      world.processor.account.pay(sessionIn(await checkout(person.client, 37.5)));
      await deliverAll(world);
      equal(await balanceOf(world, person), 37.5, 'the wallet');
    },
  ),
  row(
    '4.10',
    'The payer of `POST /api/billing/checkout` is charged the amount divided by 0.95',
    async (world) => {
      const { client } = await world.newPerson();
      for (const [amount, cents] of [
        [19, 2_000],
        [50, 5_264],
        [95, 10_000],
        [5, 527],
      ] as const)
        equal(chargedAmount(world, sessionIn(await checkout(client, amount))), cents, `cents for ${amount}`);
    },
    { decided: openPoint('the charge of a top-up is rounded up to a cent') },
  ),
  row('4.10', '`amount` of `POST /api/billing/checkout` is a number', async (world) => {
    const { client } = await world.newPerson();
    for (const amount of ['fifty', null, [], {}, true])
      expectInvalid(await checkout(client, amount), 'body', 'amount');
    sessionIn(await checkout(client, 50.25));
  }),
  row(
    '9.5',
    '`POST /api/billing/add-funds` is a legacy stub: it begins a checkout',
    async (world) => {
      const { client } = await world.newPerson();
      const session = sessionIn(await checkout(client, 50, '/api/billing/add-funds'));
      equal(chargedAmount(world, session), 5_264, 'cents');
      await refusesAnonymous(world, callTo('POST', '/api/billing/add-funds', { json: { amount: 50 } }));
    },
    { decided: openPoint('add-funds answers as checkout does') },
  ),
];

const cards: readonly SpecificationRow[] = [
  row(
    '4.10',
    '`GET /api/billing/processor-config` answers the publishable key and what a page needs',
    async (world) => {
      const config = okJson(await (await world.newPerson()).client.get('/api/billing/processor-config'));
      const { publishable_key: key, connected, currency } = config;
      equal([key, connected, currency], ['pk_test_specification', true, 'usd'], 'the configuration');
      await refusesAnonymous(world, callTo('GET', '/api/billing/processor-config'));
    },
  ),
  row('4.10', '`GET /api/billing/payment-methods` lists the saved payment methods', async (world) => {
    const card = await cardOf(await customer(world));
    equal(card.default, true, 'the card of the payment');
    equal(await cardsOf(await world.newPerson()), [], 'of a person without one');
    await refusesAnonymous(world, callTo('GET', '/api/billing/payment-methods'));
  }),
  row('4.10', '`DELETE /api/billing/payment-methods/{pm_id}` deletes a saved method', async (world) => {
    const person = await customer(world);
    const { id } = await cardOf(person);
    okJson(await person.client.delete(`/api/billing/payment-methods/${id}`));
    equal(await cardsOf(person), [], 'what is left');
  }),
  row(
    '4.10',
    '`POST /api/billing/payment-methods/{pm_id}/default` makes a method the default',
    async (world) => {
      const { person, second } = await twoCards(world);
      okJson(await person.client.post(`/api/billing/payment-methods/${second.id}/default`));
      equal((await cardsOf(person)).find((card) => card.default)?.id, second.id, 'the default');
    },
  ),
  row('2.6', '`pm_id` is a string on `/api/billing/payment-methods/{pm_id}`', async (world) => {
    const person = await customer(world);
    const { id } = await cardOf(person);
    expect(typeof id === 'string' && !/^\d+$/.test(id), `the id: ${String(id)}`);
    expectRejected(await person.client.delete('/api/billing/payment-methods/pm_unknown'), 404, 'not_found');
    okJson(await person.client.delete(`/api/billing/payment-methods/${id}`));
  }),
  row('2.6', '`pm_id` is an integer on `/api/billing/payment-method/{pm_id}`', async (world) => {
    const person = await customer(world);
    const { id, row_id: number } = await cardOf(person);
    expect(Number.isInteger(number), `the id: ${String(number)}`);
    expectInvalid(await person.client.delete(`/api/billing/payment-method/${id}`), 'path', 'pm_id');
    okJson(await person.client.delete(`/api/billing/payment-method/${number}`));
  }),
  row(
    '4.10',
    '`POST /api/billing/payment-method` is a stub to add a method',
    async (world) => {
      const { client } = await world.newPerson();
      sessionIn(await client.post('/api/billing/payment-method'));
      await refusesAnonymous(world, callTo('POST', '/api/billing/payment-method'));
    },
    { decided: openPoint('payment-method answers the address where a card is added') },
  ),
  row(
    '4.10',
    '`DELETE /api/billing/payment-method/{pm_id}` deletes a saved method by its number',
    async (world) => {
      const person = await customer(world);
      const card = await cardOf(person);
      okJson(await person.client.delete(`/api/billing/payment-method/${card.row_id}`));
      equal(await cardsOf(person), [], 'what is left');
    },
  ),
  row(
    '4.10',
    '`POST /api/billing/payment-method/{pm_id}/default` makes a method the default by its number',
    async (world) => {
      const { person, second } = await twoCards(world);
      okJson(await person.client.post(`/api/billing/payment-method/${second.row_id}/default`));
      equal((await cardsOf(person)).find((card) => card.default)?.id, second.id, 'the default');
    },
  ),
];

interface PaymentPage {
  readonly data: readonly { readonly id: string; readonly credit_usd: number }[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

const accounts: readonly SpecificationRow[] = [
  row('4.10', '`GET /api/billing/payments` answers the history of payments in pages', async (world) => {
    const { client } = await customer(world);
    world.processor.account.pay(sessionIn(await checkout(client, 30)));
    await deliverAll(world);
    const page = async (query: string) =>
      okJson(await client.get(`/api/billing/payments?limit=1${query}`)) as unknown as PaymentPage;
    const first = await page('');
    equal([first.data.length, first.has_more], [1, true], 'the first page');
    const second = await page(`&cursor=${encodeURIComponent(first.next_cursor ?? '')}`);
    equal([second.data.length, second.has_more], [1, false], 'the second page');
    equal([first.data[0]?.credit_usd, second.data[0]?.credit_usd], [30, 25], 'the newest first');
    await refusesAnonymous(world, callTo('GET', '/api/billing/payments'));
  }),
  row('4.10', '`POST /api/billing/auto-topup` updates the settings of automatic top-ups', async (world) => {
    const { client, userId } = await customer(world);
    const json = { enabled: true, threshold: 20, amount: 50, monthly_ceiling: 100 };
    okJson(await client.post('/api/billing/auto-topup', { json }));
    const storedRule = async () =>
      world.rows<Json>('SELECT automatic, top_up_cents FROM billing_account WHERE wallet_id = $1', [userId]);
    equal(await storedRule(), [{ automatic: true, top_up_cents: '5000' }], 'switched on');
    okJson(await client.post('/api/billing/auto-topup', { json: { amount: 30 } }));
    equal(await storedRule(), [{ automatic: true, top_up_cents: '3000' }], 'another amount alone');
    okJson(await client.post('/api/billing/auto-topup', { json: { enabled: false } }));
    equal((await storedRule())[0]?.['automatic'], false, 'switched off');
    await refusesAnonymous(world, callTo('POST', '/api/billing/auto-topup', { json }));
  }),
  ...(['link', 'unlink'] as const).map((word) =>
    row(
      '4.10',
      word === 'link'
        ? '`POST /api/billing/link-provider-account` is a stub to link billing to an outside cloud account'
        : '`POST /api/billing/unlink-provider-account` unlinks an outside cloud account',
      async (world) => {
        const path = `/api/billing/${word}-provider-account`;
        const { client } = await world.newPerson();
        equal(okJson(await client.post(path)), { ok: true, linked: false }, 'the answer');
        await refusesAnonymous(world, callTo('POST', path));
      },
      { decided: openPoint('link and unlink of an outside account answer {ok: true, linked: false}') },
    ),
  ),
];

const webhook = '/api/billing/processor/webhook';

const events: readonly SpecificationRow[] = [
  row('6.1', `\`POST ${webhook}\` receives the events of the payment processor`, async (world) => {
    const { client } = await world.newPerson();
    world.processor.account.pay(sessionIn(await checkout(client, 25)));
    await deliverAll(world);
    const forgedEvent = JSON.stringify({ id: 'evt_forged', type: 'charge.refunded', livemode: false });
    equal(
      (await deliver(world.url, { text: forgedEvent }, 't=1,v1=00')).status,
      400,
      'the answer to a forged event',
    );
  }),
  row('6.1', 'The event `checkout.session.completed` credits the wallet, once', async (world) => {
    const person = await world.newPerson();
    world.processor.account.pay(sessionIn(await checkout(person.client, 25)));
    const paymentEvents = world.processor.account.events.splice(0);
    const completedEvents = paymentEvents.filter(({ type }) => type === 'checkout.session.completed');
    equal(completedEvents.length, 1, 'the event');
    for (const event of [...completedEvents, ...completedEvents, ...paymentEvents])
      equal((await deliver(world.url, event)).status, 200, 'the answer');
    equal(await balanceOf(world, person), 25, 'the wallet');
  }),
  row('6.1', 'The event `charge.refunded` takes what was refunded back from the wallet', async (world) => {
    const person = await customer(world);
    const charge = [...world.processor.account.charges.values()].at(-1);
    world.processor.account.refundsAndDisputes.refund(String(charge?.['payment_intent']));
    const refunds = world.processor.account.events.splice(0);
    const refundEvents = refunds.filter(({ type }) => type === 'charge.refunded');
    equal(refundEvents.length, 1, 'the event');
    for (const event of refundEvents) equal((await deliver(world.url, event)).status, 200, 'the answer');
    equal(await balanceOf(world, person), 0, 'the wallet');
  }),
  row('6.1', 'The event `payment_intent.payment_failed` puts a failed payment on record', async (world) => {
    const { client } = await world.newPerson();
    world.processor.account.pay(sessionIn(await checkout(client, 25)), '4000000000000002');
    const remainingEvents = world.processor.account.events.splice(0);
    equal(
      remainingEvents.map(({ type }) => type),
      ['payment_intent.payment_failed'],
      'the event',
    );
    await Promise.all(remainingEvents.map((event) => deliver(world.url, event)));
    const { data } = okJson(await client.get('/api/billing/payments')) as { data: Json[] };
    equal([data.length, typeof data[0]?.['failure_code']], [1, 'string'], 'the payment and why it failed');
  }),
  row(
    '6.2',
    'A top-up begun by `/api/billing/checkout` completes through `checkout.session.completed`',
    async (world) => {
      const person = await world.newPerson({ billingExempt: false });
      const key = await world.newKey(person);
      world.processor.account.pay(sessionIn(await checkout(person.client, 25)));
      equal(await balanceOf(world, person), 0, 'before the event');
      expectRejected(await call(key.client, 'sim-small'), 403, 'billing_limit_reached');
      await deliverAll(world);
      equal(await balanceOf(world, person), 25, 'after the event');
      await waitUntilServed(key.client, 'sim-small');
    },
  ),
];

export const billingRows: readonly SpecificationRow[] = [...topUps, ...cards, ...accounts, ...events];
