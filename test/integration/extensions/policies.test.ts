import { startTestApp, type TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/people';
import { startSimulator, type Simulator } from '../../support/simulator';
import { ask } from '../web/raw-exchange';

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
const open = (path: string) => ask(app.url, { path, headers: { cookie: owner, accept: 'application/json' } });

test('a request that no policy forbids is answered', async () => {
  expect((await chat([])).status).toBe(200);
});

test('a policy forbids a model, with its reason and its name', async () => {
  const { status, error } = await chat(['secret']);
  expect(status).toBe(403);
  expect(error).toMatchObject({
    code: 'model_not_allowed',
    message: expect.stringContaining('sim-small is not cleared for secret work.') as string,
    details: { policy: 'policies/tags' },
  });
});

test.each(['throws', 'rubbish'])('where a policy %s, the request does not go on', async (tag) => {
  const { status, error } = await chat([tag]);
  expect(status).toBe(503);
  expect(error).toMatchObject({ code: 'service_unavailable', details: { policy: 'policies/broken' } });
  const why = tag === 'throws' ? 'the list is gone' : 'a reason is a text or null';
  expect(app.log.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ policy: 'policies/broken', path: '/v1/chat/completions', cause: why }),
  );
});

test('a policy closes a page to everybody, whatever their role', async () => {
  expect((await open('/dashboard/activity')).status).toBe(403);
  expect((await open('/dashboard/activity')).body).toContain('This page is closed here.');
  expect((await open('/dashboard/models')).status).toBe(503);
  expect((await open('/dashboard/keys')).status).toBe(200);
});
