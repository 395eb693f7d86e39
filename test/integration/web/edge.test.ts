import { startTestApp, type TestApp } from '../../support/app';

describe.each(['true', 'false'])('the edge, with LEAN_ADAPTER=%s', (lean) => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startTestApp({ environment: { LEAN_ADAPTER: lean } });
  });
  afterAll(() => app.close());

  test('health', async () => {
    const answer = await fetch(`${app.url}/health`);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ status: 'ok' });
  });

  test('an unknown route of the gateway', async () => {
    const answer = await fetch(`${app.url}/v1/nothing`);
    expect(answer.status).toBe(404);
    const body = (await answer.json()) as { error: Record<string, unknown> };
    expect(body.error).toMatchObject({ code: 'not_found', type: 'not_found_error' });
    expect(body.error.request_id).toBe(answer.headers.get('x-request-id'));
  });

  test('a wrong verb', async () => {
    const answer = await fetch(`${app.url}/v1/errors`, { method: 'POST' });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET');
    expect(await answer.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
  });
});
