import { type Client, expect, expectStatus, eventually } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';
import { ADMIN, admin, platformOnly, ok } from './admin-catalogue-steps';
import { newMember, unique } from './people-support';

const USER = `${ADMIN}/users/{user_id}`;
const pathOf = (userId: number): string => `${ADMIN}/users/${userId}`;

const chatRequest = {
  json: { model: 'sim-small', messages: [{ role: 'user', content: 'hello' }], max_tokens: 8 },
};

interface RecordedInvoicePayment {
  readonly id: number;
  readonly reference: string;
  readonly amount_usd: number;
  readonly undone_at: string | null;
}

interface InvoiceBalance {
  readonly data: readonly RecordedInvoicePayment[];
  readonly owed_usd: number;
  readonly next_cursor: string | null;
}

async function fetchBalance(world: World, path: string, query = ''): Promise<InvoiceBalance> {
  return ok(await (await admin(world)).get(`${path}/invoice-payments${query}`)) as unknown as InvoiceBalance;
}

/** A user who pays by invoice. */
async function createInvoicedUser(world: World): Promise<{ path: string; key: Client }> {
  const person = await world.newPerson({ billingExempt: false });
  const [path, client] = [pathOf(person.userId), await admin(world)];
  ok(await client.post(`${path}/credit-limit`, { json: { credit_limit: 5 } }));
  ok(await client.post(`${path}/billing-config`, { json: { billing_type: 'invoiced' } }));
  return { path, key: (await world.newKey(person)).client };
}

async function recordPayment(world: World, path: string, amount = '2'): Promise<RecordedInvoicePayment> {
  const reference = `bank ${unique()}`;
  ok(await (await admin(world)).post(`${path}/invoice-payment`, { json: { amount, reference } }));
  const payment = (await fetchBalance(world, path)).data.find((entry) => entry.reference === reference);
  expect(payment !== undefined, 'the payment is listed');
  return payment;
}

/** A change of an account reaches a node by an announcement. */
const waitForStatus = (key: Client, status: number): Promise<void> =>
  eventually(
    async () => (await key.post('/v1/chat/completions', chatRequest)).status === status,
    `a call is answered with ${status}`,
  );

async function expectRejections(
  world: World,
  path: string,
  invalidBodies: readonly (readonly [string, object])[],
): Promise<void> {
  for (const [name, json] of invalidBodies) {
    const answer = await (await admin(world)).post(path, { json });
    expectStatus(answer, 422, `["body","${name}"]`);
  }
}

const bySubject =
  (act: string) =>
  async (world: World): Promise<string> =>
    `${pathOf((await newMember(world)).userId)}/${act}`;

/** Operators record and undo invoice payments. */
export const invoicePaymentScenarios: readonly Scenario[] = [
  {
    operation: `POST ${USER}/invoice-payment`,
    success: async (world) => {
      const { path, key } = await createInvoicedUser(world);
      const client = await admin(world);
      await waitForStatus(key, 200);
      ok(await client.post(`${path}/credit-limit`, { json: { credit_limit: '0.0000001' } }));
      await waitForStatus(key, 403);
      await eventually(async () => (await fetchBalance(world, path)).owed_usd > 0, 'the call is owed');
      const json = { amount: '2', reference: `bank ${unique()}` };
      for (const _time of [1, 2]) ok(await client.post(`${path}/invoice-payment`, { json }));
      const { owed_usd: owed, data } = await fetchBalance(world, path);
      // The calls cost a small fraction of a cent.
      expect(owed > -2 && owed < -1.99, `paid once: ${owed}`);
      expect(data.length === 1, `recorded once: ${data.length}`);
      await waitForStatus(key, 200);
      const other = await client.post(`${path}/invoice-payment`, { json: { ...json, amount: '3' } });
      expectStatus(other, 409, 'conflict');
    },
    badInput: async (world) => {
      const { path } = await createInvoicedUser(world);
      const reference = `bank ${unique()}`;
      await expectRejections(world, `${path}/invoice-payment`, [
        ['amount', { amount: 0, reference }],
        ['amount', { amount: 'much', reference }],
        ['amount', { reference }],
        ['reference', { amount: 1 }],
        ['reference', { amount: 1, reference: 'x'.repeat(121) }],
      ]);
      expect((await fetchBalance(world, path)).data.length === 0, 'nothing is recorded');
    },
    withoutRights: platformOnly(bySubject('invoice-payment'), { amount: 1, reference: 'mine' }),
  },
  {
    operation: `POST ${USER}/invoice-payment-undo`,
    success: async (world) => {
      const { path } = await createInvoicedUser(world);
      const { id } = await recordPayment(world, path);
      expect((await fetchBalance(world, path)).owed_usd === -2, 'paid in advance');
      const json = { payment_id: id, reason: 'returned by the bank' };
      for (const _time of [1, 2])
        ok(await (await admin(world)).post(`${path}/invoice-payment-undo`, { json }));
      const { owed_usd: owed, data } = await fetchBalance(world, path);
      expect(owed === 0, `taken back once: ${owed}`);
      expect(data.length === 1 && data[0]?.undone_at !== null, `kept as undone: ${JSON.stringify(data)}`);
    },
    badInput: async (world) => {
      const { path } = await createInvoicedUser(world);
      const { id } = await recordPayment(world, path);
      await expectRejections(world, `${path}/invoice-payment-undo`, [
        ['reason', { payment_id: id }],
        ['payment_id', { reason: 'returned' }],
        ['payment_id', { payment_id: 'first', reason: 'returned' }],
      ]);
      const foreign = `${(await createInvoicedUser(world)).path}/invoice-payment-undo`;
      const json = { payment_id: id, reason: 'returned' };
      expectStatus(await (await admin(world)).post(foreign, { json }), 404, 'not_found');
      expect((await fetchBalance(world, path)).owed_usd === -2, 'nothing is taken back');
    },
    withoutRights: platformOnly(bySubject('invoice-payment-undo'), { payment_id: 1, reason: 'mine' }),
  },
  {
    operation: `GET ${USER}/invoice-payments`,
    success: async (world) => {
      const { path } = await createInvoicedUser(world);
      const [first, second] = [
        await recordPayment(world, path, '1'),
        await recordPayment(world, path, '2.5'),
      ];
      const newest = await fetchBalance(world, path, '?limit=1');
      expect(newest.data[0]?.id === second.id && newest.data[0].amount_usd === 2.5, 'the newest first');
      const next = await fetchBalance(world, path, `?limit=1&cursor=${String(newest.next_cursor)}`);
      expect(next.data.map(({ id }) => id).join() === String(first.id), 'then the one before');
      expect(newest.owed_usd === -3.5, `what is owed: ${newest.owed_usd}`);
    },
    badInput: async (world) => {
      const client = await admin(world);
      const { path } = await createInvoicedUser(world);
      const list = `${path}/invoice-payments`;
      expectStatus(await client.get(`${list}?cursor=none`), 422, '["query","cursor"]');
      expectStatus(await client.get(`${list}?limit=none`), 422, '["query","limit"]');
      expectStatus(await client.get(`${ADMIN}/users/nobody/invoice-payments`), 422, 'user_id');
      expectStatus(await client.get(`${ADMIN}/users/999999999/invoice-payments`), 404, 'not_found');
    },
    withoutRights: platformOnly(bySubject('invoice-payments'), {}, 'GET'),
  },
];
