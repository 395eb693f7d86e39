import { deliver } from '../../../simulator/processor/processor-simulator';
import { type ReadResponse, type Client, expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { PortalUser, World } from '../world';

const rule = { enabled: true, threshold: 20, amount: 50, monthly_ceiling: 100 };

/** Returns the processor session to which a top-up leads. */
async function sessionOf(answer: ReadResponse): Promise<string> {
  expectStatus(answer, 200);
  const { ok, url } = jsonOf(answer) as { ok?: boolean; url?: string };
  expect(ok === true && typeof url === 'string', 'the answer names the page to pay on');
  return Promise.resolve(url.split('/').at(-1) ?? '');
}

async function deliverAll(world: World): Promise<void> {
  for (const event of world.processor.account.events.splice(0)) {
    const answer = await deliver(world.url, event);
    if (answer.status !== 200) throw new Error(`an event was answered with ${answer.status}`);
  }
}

async function balanceOf(world: World, { userId }: PortalUser): Promise<bigint> {
  const [row] = await world.rows<{ balance: string }>(
    `SELECT coalesce(sum(e.amount), 0)::text AS balance FROM ledger_entry e
       JOIN ledger_account a ON a.id = e.account_id WHERE a.kind = 'wallet' AND a.owner_id = $1`,
    [userId],
  );
  return BigInt(row?.balance ?? 0);
}

/** A user with 25 dollars and a card. */
async function customer(world: World): Promise<PortalUser> {
  const person = await world.newPerson();
  const answer = await person.client.post('/api/billing/checkout', { json: { amount: 25 } });
  world.processor.account.pay(await sessionOf(answer));
  await deliverAll(world);
  return person;
}

async function cardOf({ client }: PortalUser): Promise<{ id: string; row_id: number; default: boolean }> {
  const { data } = jsonOf(await client.get('/api/billing/payment-methods')) as {
    data: { id: string; row_id: number; default: boolean }[];
  };
  const [card] = data;
  if (card === undefined) throw new Error('the payment left a card');
  return card;
}

/** A member of an organisation whose owner pays. */
async function member(world: World): Promise<Client> {
  const owner = await world.person('org_owner');
  await world.rows('UPDATE organisation SET billing_user_id = $2 WHERE id = $1', [
    world.organisationId,
    owner.userId,
  ]);
  const { client } = await world.newPerson({ organisationId: world.organisationId });
  return client;
}

/** Rejected without a session, and for a member for whom another account pays. */
const expectRejected = (ask: (client: Client) => Promise<ReadResponse>) => async (world: World) => {
  expectStatus(await ask(world.anonymous), 401);
  expectStatus(await ask(await member(world)), 403, 'permission_denied');
};

function topUp(path: string): Scenario {
  const sendTopUp = (client: Client, json: object) => client.post(path, { json });
  return {
    operation: `POST ${path}`,
    success: async (world) => {
      const person = await world.newPerson();
      const session = await sessionOf(await sendTopUp(person.client, { amount: 50 }));
      const chargedAmount = world.processor.account.sessions.get(session)?.['amount_total'];
      expect(chargedAmount === 5264, `50.00 is charged as 52.64, not ${String(chargedAmount)}`);
      expect((await balanceOf(world, person)) === 0n, 'nothing is credited before it is paid');
      world.processor.account.pay(session);
      await deliverAll(world);
      expect((await balanceOf(world, person)) === 50_000_000_000n, '50.00 is credited');
    },
    badInput: async (world) => {
      const { client } = await world.newPerson();
      for (const amount of [0, -1, 4.99, 10_000.01, '50', 10.001]) {
        expectStatus(await sendTopUp(client, { amount }), 422, 'validation_error');
      }
    },
    withoutRights: expectRejected((client) => sendTopUp(client, { amount: 50 })),
  };
}

function cardScenarios(path: string, name: 'id' | 'row_id', unknownId: string, code: number): Scenario[] {
  const at = (id: string | number, more = ''): string => `${path}/${id}${more}`;
  const foreign = async (
    world: World,
    ask: (person: PortalUser, id: string | number) => Promise<ReadResponse>,
  ) => {
    const card = await cardOf(await customer(world));
    expectStatus(await ask(await world.newPerson(), card[name]), 404, 'not_found');
    expectStatus(await world.anonymous.delete(at(card[name])), 401);
  };
  return [
    {
      operation: `DELETE ${path}/{pm_id}`,
      success: async (world) => {
        const person = await customer(world);
        expectStatus(await person.client.delete(at((await cardOf(person))[name])), 200);
        const remainingCards = jsonOf(await person.client.get('/api/billing/payment-methods'))['data'];
        expect(Array.isArray(remainingCards) && remainingCards.length === 0, 'the card is gone');
      },
      badInput: async (world) =>
        expectStatus(await (await customer(world)).client.delete(at(unknownId)), code),
      withoutRights: (world) => foreign(world, ({ client }, id) => client.delete(at(id))),
    },
    {
      operation: `POST ${path}/{pm_id}/default`,
      success: async (world) => {
        const person = await customer(world);
        const first = await cardOf(person);
        const setup = await person.client.post('/api/billing/payment-method');
        world.processor.account.pay(await sessionOf(setup), '5555555555554444');
        await deliverAll(world);
        const { data } = jsonOf(await person.client.get('/api/billing/payment-methods')) as {
          data: { id: string; row_id: number }[];
        };
        const second = data.find(({ id }) => id !== first.id);
        expectStatus(await person.client.post(at(second?.[name] ?? '', '/default')), 200);
        expect((await cardOf(person)).id === second?.id, 'the second card is the default one');
      },
      badInput: async (world) =>
        expectStatus(await (await customer(world)).client.post(at(unknownId, '/default')), code),
      withoutRights: (world) => foreign(world, ({ client }, id) => client.post(at(id, '/default'))),
    },
  ];
}

function link(path: string): Scenario {
  return {
    operation: `POST ${path}`,
    success: async (world) => {
      const { client } = await world.newPerson();
      const answer = await client.post(path);
      expectStatus(answer, 200);
      expect(jsonOf(answer)['linked'] === false, 'no account is linked');
    },
    badInput: async (world) => {
      const { client } = await world.newPerson();
      const malformedResponse = await client.post(path, {
        body: '{',
        headers: { 'content-type': 'application/json' },
      });
      expectStatus(malformedResponse, 422, 'validation_error');
    },
    withoutRights: expectRejected((client) => client.post(path)),
  };
}

export const billingScenarios: readonly Scenario[] = [
  {
    operation: 'GET /dashboard/billing',
    success: async (world) => {
      const { client } = await customer(world);
      const answer = await client.get('/dashboard/billing?amount=50');
      expectStatus(answer, 200);
      for (const text of ['$25.00', '$52.64', '4242']) expect(answer.text.includes(text), `${text} is shown`);
    },
    badInput: async (world) => {
      const { client } = await world.newPerson();
      expectStatus(await client.get('/dashboard/billing?own=perhaps'), 422, '["query","own"]');
    },
    withoutRights: async (world) => {
      const answer = await world.anonymous.get('/dashboard/billing');
      expect([302, 303, 401].includes(answer.status), `a stranger is not let in: ${answer.status}`);
      expect(
        !(await (await member(world)).get('/dashboard/billing')).text.includes('$'),
        'no figure is shown',
      );
    },
  },
  topUp('/api/billing/checkout'),
  topUp('/api/billing/add-funds'),
  {
    operation: 'GET /api/billing/processor-config',
    success: async (world) => {
      const { client } = await world.newPerson();
      const config = jsonOf(await client.get('/api/billing/processor-config'));
      expect(config['connected'] === true && config['test_mode'] === true, 'a test account is connected');
      expect(config['min_amount'] === 5 && config['max_amount'] === 10_000, 'the limits are told');
    },
    badInput: 'none',
    withoutRights: async (world) =>
      expectStatus(await world.anonymous.get('/api/billing/processor-config'), 401),
  },
  {
    operation: 'GET /api/billing/payment-methods',
    success: async (world) =>
      expect((await cardOf(await customer(world))).default, 'the card is the default'),
    badInput: 'none',
    withoutRights: expectRejected((client) => client.get('/api/billing/payment-methods')),
  },
  ...cardScenarios('/api/billing/payment-methods', 'id', 'pm_unknown', 404),
  {
    operation: 'GET /api/billing/payments',
    success: async (world) => {
      const { client } = await customer(world);
      const { data } = jsonOf(await client.get('/api/billing/payments')) as { data: object[] };
      const text = JSON.stringify(data);
      expect(
        text.includes('"credit_usd":25') && text.includes('"amount_usd":26.32'),
        'the payment is listed',
      );
    },
    badInput: async (world) => {
      const { client } = await world.newPerson();
      expectStatus(await client.get('/api/billing/payments?cursor=nonsense'), 422, '["query","cursor"]');
    },
    withoutRights: expectRejected((client) => client.get('/api/billing/payments')),
  },
  {
    operation: 'POST /api/billing/auto-topup',
    success: async (world) => {
      const person = await customer(world);
      expectStatus(await person.client.post('/api/billing/auto-topup', { json: rule }), 200);
      const [row] = await world.rows<{ automatic: boolean; top_up_cents: string }>(
        'SELECT automatic, top_up_cents FROM billing_account WHERE wallet_id = $1',
        [person.userId],
      );
      expect(row?.automatic === true && row.top_up_cents === '5000', 'the rule is stored');
    },
    badInput: async (world) => {
      const { client } = await customer(world);
      for (const invalidValue of [{ amount: 1 }, { monthly_ceiling: 10 }, { enabled: 'perhaps' }]) {
        expectStatus(
          await client.post('/api/billing/auto-topup', { json: { ...rule, ...invalidValue } }),
          422,
        );
      }
    },
    withoutRights: expectRejected((client) => client.post('/api/billing/auto-topup', { json: rule })),
  },
  {
    operation: 'POST /api/billing/payment-method',
    success: async (world) => {
      const person = await world.newPerson();
      world.processor.account.pay(await sessionOf(await person.client.post('/api/billing/payment-method')));
      await deliverAll(world);
      expect((await cardOf(person)).default, 'the card is saved');
    },
    badInput: async (world) => {
      const { client } = await world.newPerson();
      const malformedBody = { body: '{', headers: { 'content-type': 'application/json' } };
      expectStatus(await client.post('/api/billing/payment-method', malformedBody), 422, 'validation_error');
    },
    withoutRights: expectRejected((client) => client.post('/api/billing/payment-method')),
  },
  ...cardScenarios('/api/billing/payment-method', 'row_id', 'abc', 422),
  link('/api/billing/link-provider-account'),
  link('/api/billing/unlink-provider-account'),
  {
    operation: 'POST /api/billing/processor/webhook',
    success: async (world) => {
      const person = await customer(world);
      expect((await balanceOf(world, person)) === 25_000_000_000n, 'the signed event credited 25.00');
    },
    badInput: async (world) => {
      const text = JSON.stringify({ id: 'evt_large', pad: 'x'.repeat(262_144) });
      expect((await deliver(world.url, { text })).status === 413, 'a too large event is not read');
    },
    withoutRights: async (world) => {
      const text = JSON.stringify({ id: 'evt_forged', type: 'charge.refunded', livemode: false });
      expect((await deliver(world.url, { text }, 't=1,v1=00')).status === 400, 'a forged event is refused');
    },
  },
];
