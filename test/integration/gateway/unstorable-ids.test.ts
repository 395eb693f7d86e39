import { startTestApp, type TestApp } from '../../support/app';

// "503 for %00 in a response id"
let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const statusOf = async (method: string, path: string, body?: object): Promise<number> => {
  const { status } = await fetch(app.url + path, {
    method,
    headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return status;
};

test.each([
  ['GET', '/v1/responses/resp_%00'],
  ['GET', '/v1/responses/%00/input_items'],
  ['DELETE', '/v1/responses/resp_%00'],
  ['GET', '/v1/generations/%00'],
  ['GET', '/v1/models/%00'],
])('%s %s returns 400 or 404', async (method, path) => {
  expect([400, 404]).toContain(await statusOf(method, path));
});

test('previous_response_id with a NUL returns 400 or 404', async () => {
  const body = { model: 'sim-small', input: 'Hello', previous_response_id: 'resp_\u0000' };
  expect([400, 404]).toContain(await statusOf('POST', '/v1/responses', body));
});
