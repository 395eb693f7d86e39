import type { Server } from 'node:http';
import request from 'supertest';
import { catalogue } from '#product/kernel';
import { startTestApp, type TestApp } from '../../support/app';

describe('Public endpoints', () => {
  let app: TestApp;
  let server: Server;

  beforeAll(async () => {
    app = await startTestApp();
    server = app.application.getHttpServer() as Server;
  });
  afterAll(() => app.close());

  test.each(['/health', '/health/live', '/health/ready'])('%s returns ok', async (path) => {
    await request(server).get(path).expect(200, { status: 'ok' });
  });

  test('/v1/errors lists the complete error catalogue', async () => {
    const { body } = (await request(server).get('/v1/errors').expect(200)) as {
      body: { data: { code: string }[] };
    };
    expect(body.data.map(({ code }) => code).sort()).toEqual([...catalogue.keys()].sort());
  });

  test('/v1/errors/{code} describes one error and whether it can occur here', async () => {
    const { body } = await request(server).get('/v1/errors/budget_exceeded').expect(200);
    expect(body).toMatchObject({
      code: 'budget_exceeded',
      action_class: 'F',
      status: 402,
      type: 'billing_error',
      retryable: false,
      reach: 'reachable',
    });
  });

  test('unknown error code returns 404', async () => {
    const { body } = await request(server).get('/v1/errors/made_up').expect(404);
    expect(body).toMatchObject({ error: { code: 'not_found', param: 'code' } });
  });
});
