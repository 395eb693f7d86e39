import { startTestApp, type TestApp } from '../../support/app';
import { type Simulator, startSimulator } from '../../support/simulator';

let supplier: Simulator;
let app: TestApp;
let lenient: TestApp;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url });
  lenient = await startTestApp({
    sandboxUrl: supplier.url,
    environment: { ACCEPT_ANY_CONTENT_TYPE: 'true' },
  });
});
afterAll(async () => {
  await app.close();
  await lenient.close();
  await supplier.stop();
});

const message = { model: 'sim-small', max_tokens: 8, messages: [{ role: 'user', content: 'Hello' }] };
const bodies = {
  '/v1/messages': message,
  '/v1/chat/completions': message,
  '/v1/responses': { model: 'sim-small', input: 'Hello' },
  '/v1/embeddings': { model: 'sim-embed', input: 'Hello' },
  '/v1/messages/count_tokens': message,
  '/v1/manage/keys': { name: 'typed' },
};
const routes = Object.keys(bodies) as (keyof typeof bodies)[];
const OTHERS = ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', undefined];
const ACCEPTED = ['application/json', 'application/json; charset=utf-8', 'application/vnd.client+json'];

async function statusOf(at: TestApp, path: keyof typeof bodies, type: string | undefined) {
  const { root, demo } = at.firstKeys ?? {};
  const answer = await fetch(at.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${path === '/v1/manage/keys' ? root : demo}`,
      ...(type === undefined ? {} : { 'content-type': type }),
    },
    // Bytes, since fetch adds a type of its own to a text.
    body: new TextEncoder().encode(JSON.stringify(bodies[path])),
  });
  const { error } = (await answer.json()) as { error?: { code: string } };
  return [answer.status, error?.code];
}

describe('`content-type: application/json`', () => {
  test.each(routes)(
    '%s returns 415 for JSON sent as `text/plain`, as a form or without a type',
    async (path) => {
      for (const type of OTHERS)
        expect([type, ...(await statusOf(app, path, type))]).toEqual([type, 415, 'unsupported_media_type']);
    },
  );

  test.each(routes)('%s takes JSON with parameters and types that end in +json', async (path) => {
    for (const type of ACCEPTED)
      expect([type, ...(await statusOf(app, path, type))]).toEqual([type, 200, undefined]);
  });

  test.each(routes)('%s takes any type when ACCEPT_ANY_CONTENT_TYPE is true', async (path) => {
    for (const type of OTHERS)
      expect([type, ...(await statusOf(lenient, path, type))]).toEqual([type, 200, undefined]);
  });

  test('a request without a body needs no type', async () => {
    const authorization = `Bearer ${app.firstKeys?.root}`;
    const made = await fetch(`${app.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: '{"name":"rotated"}',
    });
    const { id } = (await made.json()) as { id: string };
    const path = `${app.url}/v1/manage/keys/${id}/rotate`;
    expect((await fetch(path, { method: 'POST', headers: { authorization } })).status).toBe(200);
  });
});
