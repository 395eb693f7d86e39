import { randomUUID } from 'node:crypto';
import { Limits } from '#product/billing';
import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser, signIn } from '../../support/people';
import { openPage, sendJson, submitForm } from '../web/from-page';
import { ask } from '../web/raw-exchange';

let app: TestApp;
let userId: number;
let cookie: string;

const sender = (as: string) => ({ url: app.url, cookie: as });
const open = (path: string, as = cookie) => openPage(sender(as), path);
const send = (path: string, form: Record<string, string> | [string, string][], as = cookie) =>
  submitForm(sender(as), path, form);
const tell = (path: string, body: object, as = cookie) => sendJson(sender(as), path, body);
const person = async (role: UserRole = 'user', organisationId: number | null = null) => {
  const id = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(id, { organisationId });
  return { userId: id, cookie: await signIn(app, id) };
};
const secretIn = (body: string) => /svc_[0-9A-Za-z]{57}/.exec(body)?.[0] ?? '';
const keysOf = (owner: number) =>
  app.database.query<{ id: number; name: string; status: string; rate_limit_rpm: number | null }>(
    'SELECT id, name, status, rate_limit_rpm FROM api_key WHERE user_id = $1 ORDER BY id',
    [owner],
  );
const modelsWith = (secret: string) =>
  ask(app.url, { path: '/v1/models', headers: { authorization: `Bearer ${secret}` } });

beforeAll(async () => {
  app = await startTestApp();
  ({ userId, cookie } = await person());
});
afterAll(() => app.close());

test('nothing yet, and filtered to nothing, are told apart', async () => {
  const empty = await person();
  expect((await open('/dashboard/keys', empty.cookie)).body).toContain('No keys yet');
  expect((await open('/dashboard/keys?q=x', empty.cookie)).body).toContain('Nothing matches these filters');
});

describe('a new key', () => {
  const form = (token: string) => ({
    creation_token: token,
    name: 'ci <b>',
    budget_limit: '20.00',
    budget_period: 'monthly',
    models_mode: 'all',
    rate_limit_rpm: '60',
    labels: 'team=web\r\nstage=test',
    _page: '/dashboard/keys/new',
  });

  test('is made once a form, works, and shows its secret in that one answer only', async () => {
    const owner = await person();
    const page = await open('/dashboard/keys/new', owner.cookie);
    const token = /name="creation_token" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
    const made = await send('/dashboard/keys/new', form(token), owner.cookie);
    expect(made.status).toBe(200);
    expect(made.headers['cache-control']).toBe('no-store');
    const secret = secretIn(made.body);
    expect((await modelsWith(secret)).status).toBe(200);
    expect(made.body).not.toContain('ci <b>');

    const again = await send('/dashboard/keys/new', form(token), owner.cookie);
    const [key, ...others] = await keysOf(owner.userId);
    expect(others).toEqual([]);
    expect(again).toMatchObject({ status: 303, headers: { location: `/dashboard/keys/${key?.id}` } });
    expect(secretIn(again.body)).toBe('');

    const shown = (await open(`/dashboard/keys/${key?.id}`, owner.cookie)).body;
    expect(shown).toContain('$0.00 of $20.00');
    expect(shown).toContain('value="60"');
    expect(shown).toContain('team&#x3D;web');
    expect(shown).toContain('Key created');
    expect(shown).not.toContain(secret);
    expect(app.log.join('\n')).not.toContain(secret);
  });

  test('two of the same form at once make one key', async () => {
    const owner = await person();
    const token = randomUUID();
    const answers = await Promise.all(
      [1, 2, 3].map(() => send('/dashboard/keys/new', form(token), owner.cookie)),
    );
    expect(await keysOf(owner.userId)).toHaveLength(1);
    expect(answers.filter(({ body }) => secretIn(body) !== '')).toHaveLength(1);
  });

  test.each<[string, Record<string, string>]>([
    ['name', { name: ' ' }],
    ['budget_limit', { budget_limit: '-1' }],
    ['rate_limit_rpm', { rate_limit_rpm: '0' }],
    ['expires_at', { expires_on: '2020-01-01' }],
    ['allowed_models', { models_mode: 'pick' }],
    ['metadata', { labels: 'nothing' }],
  ])('a form that is refused for %s comes again with what was written', async (param, wrong) => {
    const before = (await keysOf(userId)).length;
    const answer = await send('/dashboard/keys/new', { ...form(randomUUID()), ...wrong });
    expect(answer.status).toBe(422);
    expect(answer.body).toContain('role="alert"');
    const fields: Record<string, string> = {
      allowed_models: 'models_mode',
      expires_at: 'expires_on',
      metadata: 'labels',
    };
    const marked = /<(?:input|textarea|select)\b[^>]*aria-invalid="true"[^>]*>/.exec(answer.body)?.[0] ?? '';
    expect(marked).toContain(`name="${fields[param] ?? param}"`);
    expect(answer.body).toContain('value="monthly" selected');
    expect(answer.body).toContain(wrong.budget_limit === undefined ? 'value="20.00"' : 'value="-1"');
    expect(await keysOf(userId)).toHaveLength(before);
  });

  test('is for oneself, unless the role covers the other owner', async () => {
    const other = await person();
    const refused = await tell('/dashboard/keys/new', { name: 'theirs', user_id: other.userId });
    expect(refused).toMatchObject({ status: 403 });
    const organisations = app.database.source.getRepository(Organisation);
    const organisation = organisations.create({ name: 'House', slug: 'house' });
    await organisations.insert(organisation);
    const admin = await person('org_admin', organisation.id);
    const member = await person('user', organisation.id);
    const made = await tell('/dashboard/keys/new', { name: 'for you', user_id: member.userId }, admin.cookie);
    expect(made.status).toBe(200);
    expect((await keysOf(member.userId)).map(({ name }) => name)).toEqual(['for you']);
    expect(
      (await tell('/dashboard/keys/new', { name: 'out', user_id: other.userId }, admin.cookie)).status,
    ).toBe(403);
  });
});

describe('a key', () => {
  const fresh = async () => {
    const key = await addKey(app, userId);
    return { ...key, path: `/dashboard/keys/${key.id}` };
  };

  test('that a gateway file keeps says so in the list and on its page, where the next apply would overturn an act', async () => {
    const { path, id } = await fresh();
    const own = (await open(path)).body;
    expect(own).not.toContain('gateway.yaml');
    await app.database.query(`UPDATE api_key SET file_name = 'reports' WHERE id = $1`, [id]);
    const kept = (await open(path)).body;
    expect(kept).toContain('Managed by gateway.yaml as “reports”');
    expect(kept).toContain('The next time gateway.yaml is applied, it sets name, budget, limits');
    expect(kept).toContain('Applying the file does not create it again');
    expect(
      (await open('/dashboard/keys')).body.match(/<small>managed by gateway\.yaml<\/small>/g),
    ).toHaveLength(1);
    await tell(path, { action: 'revoke' });
    expect((await open(path)).body).not.toContain('Managed by gateway.yaml');
  });

  test('of somebody else is not there, read or written, unless the view of the administration covers it', async () => {
    const { path } = await fresh();
    const other = await person();
    expect((await open(path, other.cookie)).status).toBe(404);
    for (const action of ['pause', 'revoke', 'rotate'])
      expect((await tell(path, { action }, other.cookie)).status).toBe(404);
    expect((await open('/dashboard/keys/nothing1')).status).toBe(404);
    const admin = await person('platform_admin');
    expect((await open(path, admin.cookie)).status).toBe(404);
    await tell('/dashboard/toggle-admin-mode', { admin_mode: 'on' }, admin.cookie);
    expect((await open(path, admin.cookie)).status).toBe(200);
  });

  test('is paused and resumed, at once', async () => {
    const { path, text } = await fresh();
    expect((await modelsWith(text)).status).toBe(200);
    expect((await send(path, { action: 'pause' })).status).toBe(303);
    expect((await modelsWith(text)).status).toBe(401);
    expect((await open(path)).body).toContain('Paused');
    await send(path, { action: 'resume' });
    expect((await modelsWith(text)).status).toBe(200);
    expect((await open(path)).body).toMatch(/Key enabled|Key resumed/);
  });

  test('is changed by its form; an empty field takes a restriction away', async () => {
    const { path, id } = await fresh();
    const form = {
      action: 'save',
      name: 'renamed',
      budget_limit: '5',
      budget_period: 'daily',
      rate_limit_rpm: '7',
    };
    expect((await send(path, form)).status).toBe(303);
    const limits = app.application.get(Limits, { strict: false });
    expect(await limits.state({ kind: 'key', id })).toMatchObject({ limit: 5_000_000_000n, period: 'daily' });
    expect((await open(path)).body).toContain('renamed');
    await send(path, { ...form, budget_limit: '', rate_limit_rpm: '' });
    expect(await limits.state({ kind: 'key', id })).toBeNull();
    const wrong = await send(path, { ...form, budget_limit: 'many', _page: path });
    expect(wrong.status).toBe(422);
    expect(wrong.body).toContain('value="many"');
  });

  test('is changed by programs with the fields of the programming interface', async () => {
    const { path } = await fresh();
    const { status, json } = await tell(path, { rate_limit_rpm: 9, budget_limit: 2 });
    expect({ status, rate: json['rate_limit_rpm'], limit: json['budget_limit'] }).toEqual({
      status: 200,
      rate: 9,
      limit: 2,
    });
    expect((await tell(path, { rate_limit: 9 })).status).toBe(422);
    expect((await tell(path, { action: 'eat' })).status).toBe(422);
    expect(await tell(path, { allowed_regions: ['mars'] })).toMatchObject({
      status: 422,
      json: {
        detail: [{ loc: ['body', 'allowed_regions'], msg: expect.stringContaining('Known regions: ') }],
      },
    });
  });

  test('gets a new secret while the old one lives on for its grace', async () => {
    const { path, text } = await fresh();
    const page = await send(path, { action: 'rotate', grace_seconds: '3600' });
    const secret = secretIn(page.body);
    expect(secret).not.toBe(text);
    expect(page.headers['cache-control']).toBe('no-store');
    expect([(await modelsWith(secret)).status, (await modelsWith(text)).status]).toEqual([200, 200]);
    const { json } = await tell(path, { action: 'rotate' });
    expect([(await modelsWith(String(json['key']))).status, (await modelsWith(text)).status]).toEqual([
      200, 401,
    ]);
  });

  test('is revoked for good, with its reason on record', async () => {
    const { path, text } = await fresh();
    expect((await send(path, { action: 'revoke', reason: 'left the team', final: 'on' })).status).toBe(303);
    expect((await modelsWith(text)).status).toBe(401);
    const body = (await open(path)).body;
    expect(body).toContain('left the team');
    expect(body).not.toContain('value="revoke"');
    expect((await tell(path, { name: 'back' })).status).toBe(409);
  });
});

test('the list shows one’s own keys with filters, pages and the file of the same', async () => {
  const owner = await person();
  for (let made = 0; made < 52; made += 1) await addKey(app, owner.userId);
  const first = (await open('/dashboard/keys', owner.cookie)).body;
  expect(first.match(/<tr class="linked">/g)).toHaveLength(50);
  expect(first).toContain('rel="next"');
  const [key] = await keysOf(owner.userId);
  await send(`/dashboard/keys/${key?.id}`, { action: 'pause' }, owner.cookie);
  const paused = (await open('/dashboard/keys?status=disabled', owner.cookie)).body;
  expect(paused.match(/<tr class="linked">/g)).toHaveLength(1);
  const file = await open('/dashboard/keys/export?status=disabled', owner.cookie);
  expect(file.body.trimEnd().split('\r\n')).toHaveLength(2);
  expect(file.body).toContain(`${key?.id},test,disabled`);
  expect((await open('/dashboard/keys?status=eaten', owner.cookie)).status).toBe(422);
});

test('a key near its budget or its end is called to attention', async () => {
  const owner = await person();
  const key = await addKey(app, owner.userId);
  await tell(`/dashboard/keys/${key.id}`, { budget_limit: 0 }, owner.cookie);
  const soon = new Date(Date.now() + 86_400_000).toISOString();
  const other = await addKey(app, owner.userId);
  await tell(`/dashboard/keys/${other.id}`, { name: 'ending', expires_at: soon }, owner.cookie);
  const body = (await open('/dashboard/keys', owner.cookie)).body;
  expect(body).toContain('has used up its budget');
  expect(body).toContain('Key ending ends');
  expect((await open('/dashboard/keys', cookie)).body).not.toContain('Key ending ends');
});
