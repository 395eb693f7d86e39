import { ActivityLog, type NewActivity } from '#product/audit';
import { startTestApp, type TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import { sendRaw } from '../web/raw-exchange';

let app: TestApp;
let userId: number;
let cookie: string;

const addEntries = (count: number, entry: (index: number) => Partial<NewActivity>) =>
  app.database.transaction(async (tx) => {
    for (let index = 0; index < count; index += 1) {
      await app.application.get(ActivityLog, { strict: false }).write(tx, {
        action: 'key.created',
        object: { type: 'key', id: index, label: `Key ${index}` },
        concerns: { userId },
        actor: { kind: 'system', label: 'the command line' },
        ...entry(index),
      });
    }
  });
const getPage = (path: string) => sendRaw(app.url, { path, headers: { cookie, accept: 'text/html' } });
const rowsOf = (body: string) =>
  [...body.matchAll(/<td class="">\s*((?:Key|Role) \d+)/g)].map(([, label]) => label);
const linkOf = (body: string, rel: string) =>
  new RegExp(`href="([^"]+)" rel="${rel}"`)
    .exec(body)?.[1]
    ?.replaceAll('&amp;', '&')
    .replaceAll('&#x3D;', '=') ?? '';

beforeAll(async () => {
  app = await startTestApp();
  userId = await addUser(app);
  cookie = await signIn(app, userId);
});
afterAll(() => app.close());

test('the page distinguishes an empty list from a filter without matches', async () => {
  expect((await getPage('/dashboard/activity')).body).toContain('Nothing has happened yet');
  const filteredPage = (await getPage('/dashboard/activity?type=model')).body;
  expect(filteredPage).toContain('Nothing matches these filters');
  expect(filteredPage).toContain('href="/dashboard/activity"');
});

test('pagination, filters and the exported file share one query', async () => {
  await addEntries(60, () => ({}));
  await addEntries(2, (index) => ({
    action: 'user.role-changed',
    object: { type: 'account', id: index, label: `Role ${index}` },
    changes: { role: ['user', '=cmd()'] },
    reason: '<b>because</b>',
  }));
  const firstPage = (await getPage('/dashboard/activity')).body;
  expect(rowsOf(firstPage)).toHaveLength(50);
  expect(rowsOf(firstPage).slice(0, 3)).toEqual(['Role 1', 'Role 0', 'Key 59']);
  expect(firstPage).toContain('Role changed');
  expect(firstPage).toContain('role</dt>');
  expect(firstPage).not.toContain('<b>because</b>');
  const secondPage = (await getPage(linkOf(firstPage, 'next'))).body;
  expect(rowsOf(secondPage)).toHaveLength(12);
  expect(rowsOf(secondPage).at(-1)).toBe('Key 0');
  expect(rowsOf((await getPage(linkOf(secondPage, 'prev'))).body)).toEqual(rowsOf(firstPage));

  const filteredPage = (await getPage('/dashboard/activity?days=7&type=account&q=role+1')).body;
  expect(rowsOf(filteredPage)).toEqual(['Role 1']);
  const file =
    /href="([^"]+)" download/.exec(filteredPage)?.[1]?.replaceAll('&amp;', '&').replaceAll('&#x3D;', '=') ??
    '';
  expect(file).toBe('/dashboard/activity/export?days=7&type=account&q=role+1');
  const { headers, body } = await getPage(file);
  expect(headers['content-disposition']).toContain('activity_');
  expect(headers['x-svc-export-capped-at']).toBe('50000');
  const lines = body.trimEnd().split('\r\n');
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z,user\.role-changed,system,the command line,/);
  expect(lines[1]).toContain('"{""role"":[""user"",""=cmd()""]}"');
});

test('details open without JavaScript', async () => {
  const body = (await getPage('/dashboard/activity')).body;
  const href = /href="([^"]+)" data-toggle-row="(entry-\d+)"/.exec(body);
  const address = href?.[1]?.replaceAll('&amp;', '&').replaceAll('&#x3D;', '=').split('#')[0] ?? '';
  expect((await getPage(address)).body).toMatch(new RegExp(`id="${href?.[2]}">`));
});

test.each(['days=3', 'days=x', 'type=nothing', 'cursor=x', `q=${'x'.repeat(201)}`])(
  'an invalid query returns 422: %s',
  async (query) => {
    expect((await getPage(`/dashboard/activity?${query}`)).status).toBe(422);
  },
);
