import { Metrics } from '#product/platform';
import { buildExtension, type ExtensionFolder } from '../../support/extension-folder';
import { addKey } from '../../support/users';
import { PortalFixture, type Person } from '../admin/portal-fixture';

/** An extension with a page of every kind, opened by users of every role. */
let fixture: PortalFixture;
let desk: ExtensionFolder;
let member: Person;

beforeAll(async () => {
  desk = buildExtension('test/fixtures/extensions/desk');
  fixture = await PortalFixture.open({ environment: { EXTENSIONS: desk.path } });
  member = await fixture.person('user');
});
afterAll(async () => {
  await fixture.close();
  desk.remove();
});

const page = async (person: Person | null, path: string, language = 'en') => {
  const response = await fetch(fixture.app.url + path, {
    redirect: 'manual',
    headers: {
      accept: 'text/html',
      'accept-language': language,
      ...(person === null ? {} : { cookie: `${person.cookie}; svc_language=${language}` }),
    },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

const userWithLanguage = (language: string): Promise<Person> =>
  fixture.person('user', { preferredLanguage: language });

test.each([
  ['en', 'Notes', 'My notes', '0 notes', 'CSV'],
  ['de', 'Notizen', 'Meine Notizen', '0 Notizen', 'Zum Inhalt springen'],
  ['fr', 'Notes', 'Mes notes', '0 note', 'Aller au contenu'],
  ['it', 'Note', 'Le mie note', '0 note', 'Vai al contenuto'],
  ['es', 'Notas', 'Mis notas', '0 notas', 'Ir al contenido'],
])(
  'a page and the frame around it are translated into %s',
  async (language, heading, entry, count, ofHost) => {
    const { status, text, headers } = await page(await userWithLanguage(language), '/x/desk');
    expect(status).toBe(200);
    expect(text).toContain(`<html lang="${language}"`);
    expect(text).toContain(`<h1>${heading}</h1>`);
    expect(text).toMatch(new RegExp(`href="/x/desk" aria-current="page"[^\n]*<span>${entry}</span>`));
    expect(text).toContain(`<p class="scope">${count}</p>`);
    expect(text).toContain(ofHost);
    expect(headers.get('content-security-policy')).not.toMatch(/unsafe|\*|http/);
  },
);

test('navigation entries are shown to users whose role can open the page', async () => {
  const navigationOf = async (person: Person): Promise<string[]> =>
    [...(await page(person, '/dashboard')).text.matchAll(/<li><a href="(\/x\/[^"]+)"/g)].map(
      ([, href = '']) => href,
    );
  expect(await navigationOf(member)).toEqual(['/x/desk']);
  expect(await navigationOf(await fixture.person('department_admin'))).toEqual(['/x/desk']);
  for (const role of ['org_admin', 'org_owner', 'platform_admin', 'platform_owner'] as const)
    expect(await navigationOf(await fixture.person(role))).toEqual(['/x/desk', '/x/desk/office']);
  expect((await page(member, '/x/desk/office')).status).toBe(403);
});

test('a request without a session is redirected to the sign-in page and returns afterwards', async () => {
  const { status, headers } = await page(null, '/x/desk?copies=2');
  expect([status, headers.get('location')]).toEqual([303, '/login?next=%2Fx%2Fdesk%3Fcopies%3D2']);
  expect((await fixture.post(null, '/x/desk/notes', { title: 'a' })).status).toBe(401);
});

test('an accepted form shows a notice, lists the new note and logs the change', async () => {
  const author = await fixture.person('org_admin');
  const formResponse = await fetch(`${fixture.app.url}/x/desk/notes`, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      cookie: author.cookie,
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
    },
    body: '_page=%2Fx%2Fdesk&title=First&copies=3',
  });
  expect([formResponse.status, formResponse.headers.get('location')]).toEqual([303, '/x/desk']);
  const noticeCookies = formResponse.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
  const nextPage = await page({ ...author, cookie: [author.cookie, ...noticeCookies].join('; ') }, '/x/desk');
  expect(nextPage.text).toContain('The note First is kept.');
  expect(nextPage.text).toMatch(/<th scope="row"[^>]*>First/);
  const { action, object_type, object_label, changes, actor_user_id } = await fixture.row<
    Record<string, unknown>
  >(`SELECT * FROM activity WHERE action LIKE 'ext.%' ORDER BY id DESC LIMIT 1`);
  expect({ action, object_type, object_label, changes, actor_user_id }).toEqual({
    action: 'ext.desk.noted',
    object_type: 'extension',
    object_label: 'First',
    changes: { copies: [null, 3] },
    actor_user_id: author.id,
  });
  expect((await page(author, '/dashboard/activity')).text).toContain('Note added');
  expect((await page(author, '/dashboard/admin/audit')).text).toContain('Note added');
  expect((await page(author, '/dashboard/admin/audit?action=ext.desk.noted')).text).toContain('First');
});

test('a request that changes nothing leaves no activity entry', async () => {
  const countBefore = await fixture.row<{ count: string }>('SELECT count(*) FROM activity');
  expect(await fixture.post(member, '/x/desk/look')).toMatchObject({ status: 200, body: { looked: true } });
  expect((await fixture.post(member, '/x/desk/fail')).status).toBe(500);
  expect(await fixture.row('SELECT count(*) FROM activity')).toEqual(countBefore);
});

test('a refused form is shown again with its input and the message of the extension', async () => {
  const invalidForm = await fixture.submit(member, '/x/desk', '/x/desk/notes', {
    title: 'x'.repeat(21),
    copies: '12',
  });
  expect(invalidForm.status).toBe(422);
  for (const name of ['title', 'copies'])
    expect(invalidForm.text).toMatch(new RegExp(`<input id="${name}"[^>]*aria-invalid="true"`));
  expect(invalidForm.text).toContain(`value="${'x'.repeat(21)}"`);
  expect(invalidForm.text).toMatch(/<input id="copies"[^>]*max="9"/);
  await fixture.post(member, '/x/desk/notes', { title: 'Twice' });
  const germanUser = await userWithLanguage('de');
  const duplicateForm = await fixture.submit(germanUser, '/x/desk', '/x/desk/notes', {
    title: 'Twice',
    copies: '1',
  });
  expect([duplicateForm.status, duplicateForm.text]).toEqual([
    409,
    expect.stringContaining('Es gibt schon eine Notiz namens Twice.'),
  ]);
  expect(duplicateForm.text).toMatch(/<input id="title"[^>]*aria-invalid="true"/);
});

test('a form from another origin is refused', async () => {
  const send = (headers: Record<string, string>) =>
    fetch(`${fixture.app.url}/x/desk/notes`, {
      method: 'POST',
      headers: { cookie: member.cookie, 'content-type': 'application/json', ...headers },
      body: '{"title":"Forged"}',
    });
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://elsewhere.example' }, {}])
    expect(await (await send(headers as Record<string, string>)).text()).toContain('csrf_rejected');
  expect((await page(member, '/x/desk')).text).not.toContain('Forged');
});

test('a user cannot open the objects or the export of another user', async () => {
  const [one, other] = [await fixture.person('user'), await fixture.person('user')];
  const { body } = await fixture.post(one, '/x/desk/notes', { title: '=Secret', copies: 2 });
  const path = `/x/desk/notes/${String(body['id'])}`;
  expect((await page(one, path)).status).toBe(200);
  const foreignPage = await page(other, path);
  expect([foreignPage.status, foreignPage.text]).toEqual([404, expect.not.stringContaining('Secret')]);
  // Error pages of an extension use the frame of the host too.
  expect(foreignPage.text).toContain('href="/dashboard/settings"');
  const file = await page(one, '/x/desk/export');
  expect(file.headers.get('content-disposition')).toMatch(/^attachment; filename="notes_/);
  expect(file.text).toBe("title,copies\r\n'=Secret,2\r\n");
  expect((await page(other, '/x/desk/export')).text).toBe('title,copies\r\n');
});

test('a handler receives the identity, language, time zone and scope of the user', async () => {
  const user = await fixture.person('org_admin', { preferredLanguage: 'fr', timeZone: 'Europe/Zurich' });
  const { text } = await page(user, '/x/desk/data');
  expect(JSON.parse(text)).toEqual({
    id: user.id,
    role: 'org_admin',
    organisationId: fixture.ownOrganisation,
    language: 'fr',
    timeZone: 'Europe/Zurich',
    scope: { kind: 'user', userId: user.id },
  });
  expect((await page(user, '/x/desk/old')).headers.get('location')).toBe('/x/desk');
});

test.each(['broken', 'half'])(
  'a failing page (%s) returns a catalogue error, and the log names its extension',
  async (name) => {
    const logLengthBefore = fixture.app.log.length;
    const { status, text } = await page(member, `/x/desk/${name}`);
    expect(status).toBe(500);
    expect(text).not.toMatch(/a detail of the desk|RangeError/);
    const line = fixture.app.log.slice(logLengthBefore).find((each) => each.includes('request failed'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      extension: 'desk',
      level: 'error',
      path: `/x/desk/${name}`,
    });
    expect((await page(member, '/x/desk')).status).toBe(200);
  },
);

test('an API route accepts a key and returns API-format responses', async () => {
  const { text: key } = await addKey(fixture.app, member.id);
  const callApi = (path: string, init: RequestInit = {}) =>
    fetch(fixture.app.url + path, {
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
  expect(await (await callApi('/v1/x/desk/status')).json()).toEqual({ open: true });
  const postResponse = await callApi('/v1/x/desk/status', { method: 'POST', body: '{"title":"By key"}' });
  expect([postResponse.status, await postResponse.json()]).toEqual([200, { title: 'By key' }]);
  expect(
    await fixture.row(`SELECT actor_kind FROM activity WHERE action LIKE 'ext.%' ORDER BY id DESC LIMIT 1`),
  ).toEqual({
    actor_kind: 'key',
  });
  const refusal = await fetch(`${fixture.app.url}/v1/x/desk/status`);
  expect([refusal.status, await refusal.json()]).toMatchObject([
    401,
    { error: { code: expect.any(String) } },
  ]);
  const openApi = (await (await fetch(`${fixture.app.url}/v1/openapi.json`)).json()) as { paths: object };
  expect(Object.keys(openApi.paths)).toContain('/v1/x/desk/status');
});

test('the administration lists each extension with its parts, or explains how to add one', async () => {
  const operator = await fixture.person('platform_admin');
  for (const stage of ['request', 'request', 'settled'])
    fixture.app.application.get(Metrics).gateVerdicts.inc({ gate: 'desk/quiet', stage, verdict: 'abstain' });
  const { status, text } = await page(operator, '/dashboard/admin/extensions');
  expect(status).toBe(200);
  for (const expectedText of [
    '2.1.0',
    '^1',
    desk.path,
    'mail.send',
    'desk:count',
    'POST /x/desk/notes',
    '0 4 * * *',
    'let through 3',
    '1,500 ms',
    'at least Organisation administrator',
    'with a client key',
  ])
    expect(text).toContain(expectedText);
  const { text: json } = await page(operator, '/dashboard/admin/extensions?format=json');
  expect(JSON.parse(json)).toMatchObject({
    contract: '1.1.0',
    extensions: [{ id: 'desk', needs: ['mail.send'] }],
  });
  expect((await page(await fixture.person('org_owner'), '/dashboard/admin/extensions')).status).toBe(403);
  const fixtureWithoutExtensions = await PortalFixture.open();
  try {
    const owner = await fixtureWithoutExtensions.person('platform_owner');
    expect((await fixtureWithoutExtensions.get(owner, '/dashboard/admin/extensions')).text).toContain(
      'docs/extensions.md',
    );
  } finally {
    await fixtureWithoutExtensions.close();
  }
});
