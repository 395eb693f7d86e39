import { addCustomer, type Customer } from '../../support/customer';
import { signIn } from '../../support/users';
import { sendRaw } from '../web/raw-exchange';
import { app, closeFixture, openFixture, recordOf, supplier } from './gateway-fixture';

let customer: Customer;

beforeAll(async () => {
  await openFixture();
  customer = await addCustomer(app, 'correlated', 10n ** 12n);
});
afterEach(() => supplier.clearFaults());
afterAll(closeFixture);

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

describe('Client request id that is not a UUID', () => {
  test.each(['01J9ZC/order:77', 'Root=1-67891233-abcdef', 'a', '_'.repeat(128)])(
    "%s is returned next to the gateway's request id and recorded",
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
    '%j is ignored without failing the request',
    async (id) => {
      const answer = await post(id);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-client-request-id')).toBeNull();
      expect(answer.headers.get('x-request-id')).toMatch(uuid);
      expect(await recordOf(answer)).toMatchObject({ client_request_id: null });
    },
  );

  test('UUID becomes the request id itself', async () => {
    const id = '0198f0a0-0000-7000-8000-00000000cafe';
    const answer = await post(id);
    expect([answer.headers.get('x-request-id'), answer.headers.get('x-client-request-id')]).toEqual([
      id,
      null,
    ]);
  });

  test('client request id appears in errors, their records and the log, including failovers', async () => {
    const rejection = await post('refused-7', { model: 'sim-nothing' });
    expect([rejection.status, rejection.headers.get('x-client-request-id')]).toEqual([404, 'refused-7']);
    expect(await recordOf(rejection)).toMatchObject({ client_request_id: 'refused-7' });
    await supplier.addFault({ fault: { kind: 'status', status: 500 } });
    const failure = await post('failed-7');
    expect([failure.status >= 500, failure.headers.get('x-client-request-id')]).toEqual([true, 'failed-7']);
    const lines = app.log.filter((line) => line.includes('failed-7'));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ client_request_id: 'failed-7' });
  });

  test('routes outside of inference, including the portal, return the client request id', async () => {
    for (const path of ['/v1/models', '/health', '/login']) {
      const answer = await fetch(`${app.url}${path}`, { headers: { 'x-request-id': 'walk-1' } });
      expect([path, answer.headers.get('x-client-request-id')]).toEqual([path, 'walk-1']);
    }
  });

  test('request log, its export, the generation and the key audit show the client request id', async () => {
    const [first, second] = [await post('trace.9'), await post('trace.9')];
    const ids = [first, second].map((answer) => answer.headers.get('x-request-id'));
    const cookie = await signIn(app, customer.userId);
    const readPage = async (path: string): Promise<string> =>
      (await sendRaw(app.url, { path, headers: { cookie, accept: 'text/html' } })).body;
    const page = await readPage('/dashboard/request-log?client_request_id=trace.9');
    const visibleIds = [...page.matchAll(/id="request-([0-9a-f-]{36})"/g)].map(([, id]) => id);
    expect(visibleIds.sort()).toEqual([...ids].sort());
    expect(page).toContain('trace.9');
    expect(await readPage('/dashboard/request-log?client_request_id=none')).not.toMatch(
      /id="request-[0-9a-f]{8}/,
    );
    const file = (await readPage('/dashboard/request-log/export?client_request_id=trace.9'))
      .trim()
      .split('\n');
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
