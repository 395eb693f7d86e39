import { startTestApp, type TestApp } from '../../support/app';
import { type Simulator, startSimulator } from '../../support/simulator';

let supplier: Simulator;
let app: TestApp;
let lenientApp: TestApp;

beforeAll(async () => {
  supplier = await startSimulator();
  app = await startTestApp({ sandboxUrl: supplier.url });
  lenientApp = await startTestApp({
    sandboxUrl: supplier.url,
    environment: { ACCEPT_ANY_CONTENT_TYPE: 'true' },
  });
});
afterAll(async () => {
  await app.close();
  await lenientApp.close();
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
const REJECTED = ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', undefined];
const ACCEPTED = ['application/json', 'application/json; charset=utf-8', 'application/vnd.client+json'];

async function statusFor(at: TestApp, path: keyof typeof bodies, type: string | undefined) {
  const { root, demo } = at.firstKeys ?? {};
  const answer = await fetch(at.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${path === '/v1/manage/keys' ? root : demo}`,
      ...(type === undefined ? {} : { 'content-type': type }),
    },
    // Sent as bytes, because fetch adds a content type to text.
    body: new TextEncoder().encode(JSON.stringify(bodies[path])),
  });
  const { error } = (await answer.json()) as { error?: { code: string } };
  return [answer.status, error?.code];
}

describe('Request `content-type`', () => {
  test.each(routes)(
    '%s returns 415 for JSON sent as `text/plain`, as a form or without a type',
    async (path) => {
      for (const type of REJECTED)
        expect([type, ...(await statusFor(app, path, type))]).toEqual([type, 415, 'unsupported_media_type']);
    },
  );

  test.each(routes)('%s accepts JSON with parameters and types that end in +json', async (path) => {
    for (const type of ACCEPTED)
      expect([type, ...(await statusFor(app, path, type))]).toEqual([type, 200, undefined]);
  });

  test.each(routes)('%s accepts any type when ACCEPT_ANY_CONTENT_TYPE is true', async (path) => {
    for (const type of REJECTED)
      expect([type, ...(await statusFor(lenientApp, path, type))]).toEqual([type, 200, undefined]);
  });

  test('request without a body needs no content type', async () => {
    const authorization = `Bearer ${app.firstKeys?.root}`;
    const createResponse = await fetch(`${app.url}/v1/manage/keys`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: '{"name":"rotated"}',
    });
    const { id } = (await createResponse.json()) as { id: string };
    const path = `${app.url}/v1/manage/keys/${id}/rotate`;
    expect((await fetch(path, { method: 'POST', headers: { authorization } })).status).toBe(200);
  });
});
