import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';

/*
 * "Routes with a key (`/v1/x/…`) cannot know their caller; […] `Data` answers text as HTML; sub-modules cannot inject
 * HOST".
 */

const EXTENSIONS = './test/fixtures/extensions/team/index.cjs';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ environment: { EXTENSIONS, EXT_TEAM_NAME: 'falcons' } });
});
afterAll(() => app.close());

const callRoute = (path: string, key: string, service = app): Promise<Response> =>
  fetch(`${service.url}/v1/x/team/${path}`, { headers: { authorization: `Bearer ${key}` } });

test('a key route receives the ids of its caller', async () => {
  const { userId, keyId, key } = await addCustomer(app, 'caller');
  const { caller } = (await (await callRoute('caller', key)).json()) as { caller: object };
  expect(caller).toEqual({
    id: keyId,
    userId,
    organisationId: null,
    departmentId: null,
    projectId: null,
  });
});

test('a module that the extension imports injects the host of its own service', async () => {
  const other = await startTestApp({ environment: { EXTENSIONS, EXT_TEAM_NAME: 'owls' } });
  try {
    const teamAt = async (service: TestApp): Promise<unknown> =>
      ((await (await callRoute('caller', service.firstKeys!.demo, service)).json()) as { team: string }).team;
    expect([await teamAt(app), await teamAt(other)]).toEqual(['falcons', 'owls']);
  } finally {
    await other.close();
  }
});

test.each([
  ['text', '"<script>alert(1)</script>"'],
  ['count', '42'],
  ['nothing', 'null'],
])('Data returns %s as JSON', async (path, body) => {
  const response = await callRoute(path, app.firstKeys!.demo);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'application/json; charset=utf-8',
  ]);
  expect(await response.text()).toBe(body);
});

test('Action returns text as JSON', async () => {
  const response = await fetch(`${app.url}/v1/x/team/change`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.firstKeys!.demo}`, 'content-type': 'application/json' },
    body: '{}',
  });
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(await response.text()).toBe('"<b>changed</b>"');
});
