import { addCustomer, type Customer } from '../../support/customer';
import { signIn } from '../../support/people';
import { ask } from '../web/raw-exchange';
import { app, closeHouse, openHouse, recordOf, supplier } from './gateway-house';

let customer: Customer;

beforeAll(async () => {
  await openHouse();
  customer = await addCustomer(app, 'correlated', 10n ** 12n);
});
afterEach(() => supplier.clearFaults());
afterAll(closeHouse);

const post = (id: string, body: object = {}, path = '/v1/chat/completions'): Promise<Response> =>
  fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${customer.key}`,
      'content-type': 'application/json',
      'x-request-id': id,
    },
    body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: 'hi' }], ...body }),
  });
const uuid = /^[0-9a-f-]{36}$/;

describe('an id of the caller’s that is no UUID', () => {
  test.each(['01J9ZC/order:77', 'Root=1-67891233-abcdef', 'a', '_'.repeat(128)])(
    '%s stands beside ours: on the answer and on record',
    async (id) => {
      for (const stream of [false, true]) {
        const answer = await post(id, { stream });
        await answer.text();
        expect(answer.status).toBe(200);
        expect(answer.headers.get('x-client-request-id')).toBe(id);
        expect(answer.headers.get('x-request-id')).toMatch(uuid);
        expect(await recordOf(answer)).toMatchObject({ client_request_id: id });
      }
    },
  );

  test.each(['', 'a b', 'a,b', '"quoted"', '<b>', 'ä', '_'.repeat(129)])(
    '%j is left out, and fails nothing',
    async (id) => {
      const answer = await post(id);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-client-request-id')).toBeNull();
      expect(answer.headers.get('x-request-id')).toMatch(uuid);
      expect(await recordOf(answer)).toMatchObject({ client_request_id: null });
    },
  );

  test('a UUID is the id of the request itself, as before', async () => {
    const id = '0198f0a0-0000-7000-8000-00000000cafe';
    const answer = await post(id);
    expect([answer.headers.get('x-request-id'), answer.headers.get('x-client-request-id')]).toEqual([
      id,
      null,
    ]);
  });

  test('it stands on refusals, in their records and in the log, also in that of a failover', async () => {
    const refused = await post('refused-7', { model: 'sim-nothing' });
    expect([refused.status, refused.headers.get('x-client-request-id')]).toEqual([404, 'refused-7']);
    expect(await recordOf(refused)).toMatchObject({ client_request_id: 'refused-7' });
    await supplier.addFault({ fault: { kind: 'status', status: 500 } });
    const failed = await post('failed-7');
    expect([failed.status >= 500, failed.headers.get('x-client-request-id')]).toEqual([true, 'failed-7']);
    const lines = app.log.filter((line) => line.includes('failed-7'));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ client_request_id: 'failed-7' });
  });

  test('routes that are no inference have it too, also those of the portal', async () => {
    for (const path of ['/v1/models', '/health', '/login']) {
      const answer = await fetch(`${app.url}${path}`, { headers: { 'x-request-id': 'walk-1' } });
      expect([path, answer.headers.get('x-client-request-id')]).toEqual([path, 'walk-1']);
    }
  });

  test('the log finds it, shows it and exports it; so do the generation and the audit of the key', async () => {
    const [first, second] = [await post('trace.9'), await post('trace.9')];
    const ids = [first, second].map((answer) => answer.headers.get('x-request-id'));
    const cookie = await signIn(app, customer.userId);
    const read = async (path: string): Promise<string> =>
      (await ask(app.url, { path, headers: { cookie, accept: 'text/html' } })).body;
    const page = await read('/dashboard/request-log?client_request_id=trace.9');
    const shown = [...page.matchAll(/id="request-([0-9a-f-]{36})"/g)].map(([, id]) => id);
    expect(shown.sort()).toEqual([...ids].sort());
    expect(page).toContain('trace.9');
    expect(await read('/dashboard/request-log?client_request_id=none')).not.toMatch(
      /id="request-[0-9a-f]{8}/,
    );
    const file = (await read('/dashboard/request-log/export?client_request_id=trace.9')).trim().split('\n');
    expect(file).toHaveLength(3);
    const [head, line] = file.map((text) => text.trim().split(','));
    expect(head?.slice(-2)).toEqual(['client_request_id', 'key_public_id']);
    expect(line?.at(-2)).toBe('trace.9');
    const generation = await fetch(`${app.url}/v1/generations/${ids[0]}`, {
      headers: { authorization: `Bearer ${customer.key}` },
    });
    expect(await generation.json()).toMatchObject({ client_request_id: 'trace.9' });
  });
});
