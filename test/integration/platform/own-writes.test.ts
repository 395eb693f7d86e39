import { addCustomer } from '../../support/customer';
import { startSimulator, type Simulator } from '../../support/simulator';
import { startTestApp, type TestApp } from '../../support/app';

let app: TestApp;
let supplier: Simulator;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url });
});
afterAll(async () => {
  await app.close();
  await supplier.stop();
});

const manage = (path: string, method: string, body?: object): Promise<Response> =>
  fetch(`${app.url}/v1/manage/keys/${path}`, {
    method,
    headers: { authorization: `Bearer ${app.firstKeys?.root}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
const statusWith = async (key: string): Promise<number> => {
  const { status } = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sim-small',
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 5,
    }),
  });
  return status;
};

// "every change that the data plane reads is in force on the node that answered it before it answers".
test('a change of a key applies to the next request on the same node, repeatedly', async () => {
  const { key, keyId } = await addCustomer(app, 'writer', 10n ** 12n);
  const [row] = await app.database.query<{ public_id: string }>(
    'SELECT public_id FROM api_key WHERE id = $1',
    [keyId],
  );
  const id = row!.public_id;
  for (let round = 0; round < 20; round += 1) {
    const pauseResponse = await manage(id, 'PATCH', { status: 'disabled' });
    expect([pauseResponse.status, pauseResponse.headers.get('x-svc-applied')]).toEqual([200, null]);
    expect(await statusWith(key)).toBe(401);
    expect((await manage(id, 'PATCH', { status: 'active', budget_limit: 0 })).status).toBe(200);
    expect(await statusWith(key)).toBe(402);
    expect((await manage(id, 'PATCH', { budget_limit: null, allowed_models: ['sim-large'] })).status).toBe(
      200,
    );
    expect(await statusWith(key)).toBe(403);
    expect((await manage(id, 'PATCH', { allowed_models: null })).status).toBe(200);
    expect(await statusWith(key)).toBe(200);
  }
});
