import { startTestApp, type TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import { startSimulator, type Simulator } from '../../support/simulator';
import { sendRaw } from '../web/raw-exchange';

let app: TestApp;
let simulator: Simulator;
let owner: string;

beforeAll(async () => {
  simulator = await startSimulator();
  app = await startTestApp({
    environment: { EXTENSIONS: './test/fixtures/extensions/policies.cjs' },
    sandboxUrl: simulator.url,
  });
  owner = await signIn(app, await addUser(app, 'platform_owner'));
});
afterAll(async () => {
  await app.close();
  await simulator.stop();
});

async function chat(tags: string[]) {
  const answer = await fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sim-small',
      messages: [{ role: 'user', content: 'Hi' }],
      metadata: { tags },
    }),
  });
  const { error } = (await answer.json()) as { error?: Record<string, unknown> };
  return { status: answer.status, error };
}
const openPage = (path: string) =>
  sendRaw(app.url, { path, headers: { cookie: owner, accept: 'application/json' } });

test('a request that no policy forbids is answered', async () => {
  expect((await chat([])).status).toBe(200);
});

test('a policy forbids a model with its reason and its name', async () => {
  const { status, error } = await chat(['secret']);
  expect(status).toBe(403);
  expect(error).toMatchObject({
    code: 'model_not_allowed',
    message: expect.stringContaining('sim-small is not cleared for secret work.') as string,
    details: { policy: 'policies/tags' },
  });
});

test.each(['throws', 'rubbish'])('a policy that %s ends the request with 503', async (tag) => {
  const { status, error } = await chat([tag]);
  expect(status).toBe(503);
  expect(error).toMatchObject({ code: 'service_unavailable', details: { policy: 'policies/broken' } });
  const cause = tag === 'throws' ? 'the list is gone' : 'a reason is a text or null';
  expect(app.log.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ policy: 'policies/broken', path: '/v1/chat/completions', cause: cause }),
  );
});

test('a policy closes a page to every role', async () => {
  expect((await openPage('/dashboard/activity')).status).toBe(403);
  expect((await openPage('/dashboard/activity')).body).toContain('This page is closed here.');
  expect((await openPage('/dashboard/models')).status).toBe(503);
  expect((await openPage('/dashboard/keys')).status).toBe(200);
});
