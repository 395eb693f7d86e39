import { ActivityLog, type NewActivity } from '#product/audit';
import { startTestApp, type TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/people';
import { ask } from '../web/raw-exchange';

let app: TestApp;
let userId: number;
let cookie: string;

const put = (count: number, entry: (index: number) => Partial<NewActivity>) =>
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
const open = (path: string) => ask(app.url, { path, headers: { cookie, accept: 'text/html' } });
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

test('nothing yet, and filtered to nothing, are told apart', async () => {
  expect((await open('/dashboard/activity')).body).toContain('Nothing has happened yet');
  const filtered = (await open('/dashboard/activity?type=model')).body;
  expect(filtered).toContain('Nothing matches these filters');
  expect(filtered).toContain('href="/dashboard/activity"');
});

test('pages, filters and the file with the same query', async () => {
  await put(60, () => ({}));
  await put(2, (index) => ({
    action: 'user.role-changed',
    object: { type: 'account', id: index, label: `Role ${index}` },
    changes: { role: ['user', '=cmd()'] },
    reason: '<b>because</b>',
  }));
  const first = (await open('/dashboard/activity')).body;
  expect(rowsOf(first)).toHaveLength(50);
  expect(rowsOf(first).slice(0, 3)).toEqual(['Role 1', 'Role 0', 'Key 59']);
  expect(first).toContain('Role changed');
  expect(first).toContain('role</dt>');
  expect(first).not.toContain('<b>because</b>');
  const second = (await open(linkOf(first, 'next'))).body;
  expect(rowsOf(second)).toHaveLength(12);
  expect(rowsOf(second).at(-1)).toBe('Key 0');
  expect(rowsOf((await open(linkOf(second, 'prev'))).body)).toEqual(rowsOf(first));

  const narrowed = (await open('/dashboard/activity?days=7&type=account&q=role+1')).body;
  expect(rowsOf(narrowed)).toEqual(['Role 1']);
  const file =
    /href="([^"]+)" download/.exec(narrowed)?.[1]?.replaceAll('&amp;', '&').replaceAll('&#x3D;', '=') ?? '';
  expect(file).toBe('/dashboard/activity/export?days=7&type=account&q=role+1');
  const { headers, body } = await open(file);
  expect(headers['content-disposition']).toContain('activity_');
  expect(headers['x-svc-export-capped-at']).toBe('50000');
  const lines = body.trimEnd().split('\r\n');
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z,user\.role-changed,system,the command line,/);
  expect(lines[1]).toContain('"{""role"":[""user"",""=cmd()""]}"');
});

test('details open without scripts', async () => {
  const body = (await open('/dashboard/activity')).body;
  const href = /href="([^"]+)" data-toggle-row="(entry-\d+)"/.exec(body);
  const address = href?.[1]?.replaceAll('&amp;', '&').replaceAll('&#x3D;', '=').split('#')[0] ?? '';
  expect((await open(address)).body).toMatch(new RegExp(`id="${href?.[2]}">`));
});

test.each(['days=3', 'days=x', 'type=nothing', 'cursor=x', `q=${'x'.repeat(201)}`])(
  'what does not fit is refused: %s',
  async (query) => {
    expect((await open(`/dashboard/activity?${query}`)).status).toBe(422);
  },
);
