import { Metrics } from '#product/platform';
import { builtExtension, type ExtensionFolder } from '../../support/extension-folder';
import { addKey } from '../../support/people';
import { House, type Person } from '../admin/house';

/** An extension with a page of every kind, as people of every role meet it. */
let house: House;
let desk: ExtensionFolder;
let member: Person;

beforeAll(async () => {
  desk = builtExtension('test/fixtures/extensions/desk');
  house = await House.open({ environment: { EXTENSIONS: desk.path } });
  member = await house.person('user');
});
afterAll(async () => {
  await house.close();
  desk.remove();
});

const page = async (person: Person | null, path: string, language = 'en') => {
  const response = await fetch(house.app.url + path, {
    redirect: 'manual',
    headers: {
      accept: 'text/html',
      'accept-language': language,
      ...(person === null ? {} : { cookie: `${person.cookie}; svc_language=${language}` }),
    },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

const speaking = (language: string): Promise<Person> => house.person('user', { preferredLanguage: language });

test.each([
  ['en', 'Notes', 'My notes', '0 notes', 'CSV'],
  ['de', 'Notizen', 'Meine Notizen', '0 Notizen', 'Zum Inhalt springen'],
  ['fr', 'Notes', 'Mes notes', '0 note', 'Aller au contenu'],
  ['it', 'Note', 'Le mie note', '0 note', 'Vai al contenuto'],
  ['es', 'Notas', 'Mis notas', '0 notas', 'Ir al contenido'],
])('a page speaks %s, around it the frame of the host', async (language, heading, entry, count, ofHost) => {
  const { status, text, headers } = await page(await speaking(language), '/x/desk');
  expect(status).toBe(200);
  expect(text).toContain(`<html lang="${language}"`);
  expect(text).toContain(`<h1>${heading}</h1>`);
  expect(text).toMatch(new RegExp(`href="/x/desk" aria-current="page"[^\n]*<span>${entry}</span>`));
  expect(text).toContain(`<p class="scope">${count}</p>`);
  expect(text).toContain(ofHost);
  expect(headers.get('content-security-policy')).not.toMatch(/unsafe|\*|http/);
});

test('its entries stand in the navigation of those whose role is enough, where the page is served', async () => {
  const entriesOf = async (person: Person): Promise<string[]> =>
    [...(await page(person, '/dashboard')).text.matchAll(/<li><a href="(\/x\/[^"]+)"/g)].map(
      ([, href = '']) => href,
    );
  expect(await entriesOf(member)).toEqual(['/x/desk']);
  expect(await entriesOf(await house.person('department_admin'))).toEqual(['/x/desk']);
  for (const role of ['org_admin', 'org_owner', 'platform_admin', 'platform_owner'] as const)
    expect(await entriesOf(await house.person(role))).toEqual(['/x/desk', '/x/desk/office']);
  expect((await page(member, '/x/desk/office')).status).toBe(403);
});

test('strangers are led to the sign-in, and back', async () => {
  const { status, headers } = await page(null, '/x/desk?copies=2');
  expect([status, headers.get('location')]).toEqual([303, '/login?next=%2Fx%2Fdesk%3Fcopies%3D2']);
  expect((await house.post(null, '/x/desk/notes', { title: 'a' })).status).toBe(401);
});

test('a form is carried out, told of, listed, and put on record', async () => {
  const author = await house.person('org_admin');
  const sent = await fetch(`${house.app.url}/x/desk/notes`, {
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
  expect([sent.status, sent.headers.get('location')]).toEqual([303, '/x/desk']);
  const notice = sent.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
  const after = await page({ ...author, cookie: [author.cookie, ...notice].join('; ') }, '/x/desk');
  expect(after.text).toContain('The note First is kept.');
  expect(after.text).toMatch(/<th scope="row"[^>]*>First/);
  const { action, object_type, object_label, changes, actor_user_id } = await house.row<
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

test('what changes nothing leaves no entry', async () => {
  const before = await house.row<{ count: string }>('SELECT count(*) FROM activity');
  expect(await house.post(member, '/x/desk/look')).toMatchObject({ status: 200, body: { looked: true } });
  expect((await house.post(member, '/x/desk/fail')).status).toBe(500);
  expect(await house.row('SELECT count(*) FROM activity')).toEqual(before);
});

test('a refused form is shown again, with its fields and the words of the extension', async () => {
  const wrong = await house.submit(member, '/x/desk', '/x/desk/notes', {
    title: 'x'.repeat(21),
    copies: '12',
  });
  expect(wrong.status).toBe(422);
  for (const name of ['title', 'copies'])
    expect(wrong.text).toMatch(new RegExp(`<input id="${name}"[^>]*aria-invalid="true"`));
  expect(wrong.text).toContain(`value="${'x'.repeat(21)}"`);
  expect(wrong.text).toMatch(/<input id="copies"[^>]*max="9"/);
  await house.post(member, '/x/desk/notes', { title: 'Twice' });
  const german = await speaking('de');
  const taken = await house.submit(german, '/x/desk', '/x/desk/notes', { title: 'Twice', copies: '1' });
  expect([taken.status, taken.text]).toEqual([
    409,
    expect.stringContaining('Es gibt schon eine Notiz namens Twice.'),
  ]);
  expect(taken.text).toMatch(/<input id="title"[^>]*aria-invalid="true"/);
});

test('a form of another origin is refused', async () => {
  const send = (headers: Record<string, string>) =>
    fetch(`${house.app.url}/x/desk/notes`, {
      method: 'POST',
      headers: { cookie: member.cookie, 'content-type': 'application/json', ...headers },
      body: '{"title":"Forged"}',
    });
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://elsewhere.example' }, {}])
    expect(await (await send(headers as Record<string, string>)).text()).toContain('csrf_rejected');
  expect((await page(member, '/x/desk')).text).not.toContain('Forged');
});

test("a person's file and things are the person's own", async () => {
  const [one, other] = [await house.person('user'), await house.person('user')];
  const { body } = await house.post(one, '/x/desk/notes', { title: '=Secret', copies: 2 });
  const path = `/x/desk/notes/${String(body['id'])}`;
  expect((await page(one, path)).status).toBe(200);
  const foreign = await page(other, path);
  expect([foreign.status, foreign.text]).toEqual([404, expect.not.stringContaining('Secret')]);
  // An error below the pages of an extension stands in their frame as well.
  expect(foreign.text).toContain('href="/dashboard/settings"');
  const file = await page(one, '/x/desk/export');
  expect(file.headers.get('content-disposition')).toMatch(/^attachment; filename="notes_/);
  expect(file.text).toBe("title,copies\r\n'=Secret,2\r\n");
  expect((await page(other, '/x/desk/export')).text).toBe('title,copies\r\n');
});

test('a handler is told who asks', async () => {
  const person = await house.person('org_admin', { preferredLanguage: 'fr', timeZone: 'Europe/Zurich' });
  const { text } = await page(person, '/x/desk/data');
  expect(JSON.parse(text)).toEqual({
    id: person.id,
    role: 'org_admin',
    organisationId: house.ours,
    language: 'fr',
    timeZone: 'Europe/Zurich',
    scope: { kind: 'user', userId: person.id },
  });
  expect((await page(person, '/x/desk/old')).headers.get('location')).toBe('/x/desk');
});

test.each(['broken', 'half'])(
  'a page that fails (%s) is an error of the catalogue, and the log names it',
  async (name) => {
    const before = house.app.log.length;
    const { status, text } = await page(member, `/x/desk/${name}`);
    expect(status).toBe(500);
    expect(text).not.toMatch(/a detail of the desk|RangeError/);
    const line = house.app.log.slice(before).find((each) => each.includes('request failed'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({
      extension: 'desk',
      level: 'error',
      path: `/x/desk/${name}`,
    });
    expect((await page(member, '/x/desk')).status).toBe(200);
  },
);

test('a route of the programming interface takes a key, and answers in its words', async () => {
  const { text: key } = await addKey(house.app, member.id);
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(house.app.url + path, {
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
  expect(await (await ask('/v1/x/desk/status')).json()).toEqual({ open: true });
  const changed = await ask('/v1/x/desk/status', { method: 'POST', body: '{"title":"By key"}' });
  expect([changed.status, await changed.json()]).toEqual([200, { title: 'By key' }]);
  expect(
    await house.row(`SELECT actor_kind FROM activity WHERE action LIKE 'ext.%' ORDER BY id DESC LIMIT 1`),
  ).toEqual({
    actor_kind: 'key',
  });
  const refused = await fetch(`${house.app.url}/v1/x/desk/status`);
  expect([refused.status, await refused.json()]).toMatchObject([
    401,
    { error: { code: expect.any(String) } },
  ]);
  const described = (await (await fetch(`${house.app.url}/v1/openapi.json`)).json()) as { paths: object };
  expect(Object.keys(described.paths)).toContain('/v1/x/desk/status');
});

test('the administration lists each extension with its parts; without any it says how to add one', async () => {
  const operator = await house.person('platform_admin');
  for (const stage of ['request', 'request', 'settled'])
    house.app.application.get(Metrics).gateVerdicts.inc({ gate: 'desk/quiet', stage, verdict: 'abstain' });
  const { status, text } = await page(operator, '/dashboard/admin/extensions');
  expect(status).toBe(200);
  for (const shown of [
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
    expect(text).toContain(shown);
  const { text: json } = await page(operator, '/dashboard/admin/extensions?format=json');
  expect(JSON.parse(json)).toMatchObject({
    contract: '1.1.0',
    extensions: [{ id: 'desk', needs: ['mail.send'] }],
  });
  expect((await page(await house.person('org_owner'), '/dashboard/admin/extensions')).status).toBe(403);
  const plain = await House.open();
  try {
    const owner = await plain.person('platform_owner');
    expect((await plain.get(owner, '/dashboard/admin/extensions')).text).toContain('docs/extensions.md');
  } finally {
    await plain.close();
  }
});
