import { randomUUID } from 'node:crypto';
import { PortalFixture, type Person } from './portal-fixture';

/** Administration errors give their reason in the reader's language. */
const organisations = '/dashboard/admin/organisations';
const usersPath = '/dashboard/admin/users';
let fixture: PortalFixture;
let platformAdmin: Person;
let owner: Person;

beforeAll(async () => {
  fixture = await PortalFixture.open();
  [platformAdmin, owner] = [await fixture.person('platform_admin'), await fixture.person('org_owner')];
});
afterAll(() => fixture.close());

test('errors for organisations, departments, invitations, retention and billing give their reason in German', async () => {
  const germanOwner = await fixture.person('platform_owner', { preferredLanguage: 'de' });
  const id = await fixture.organisation();
  const { slug } = await fixture.row<{ slug: string }>('SELECT slug FROM organisation WHERE id = $1', [id]);
  const member = await fixture.person('user', { organisationId: id });
  await fixture.post(platformAdmin, '/dashboard/admin/departments', { name: 'Research', org_id: id });
  const ownPath = `${organisations}/${id}`;
  const cases: [string, string, Record<string, string>, number, string][] = [
    [`${organisations}/new`, organisations, { name: 'Zweite', slug }, 409, 'Dieser Name ist schon vergeben.'],
    [ownPath, `${ownPath}/delete`, { confirmation: 'x' }, 409, `Geben Sie zur Bestätigung „${slug}“ ein.`],
    [
      ownPath,
      `${ownPath}/delete`,
      { confirmation: slug },
      409,
      'nicht leer – Personen: 1, Projekte: 0, Abteilungen: 1, Schlüssel: 0.',
    ],
    [ownPath, ownPath, { sso_only: 'on' }, 409, 'Es ist kein Identitätsanbieter eingerichtet'],
    [ownPath, `${organisations}/999999`, { name: 'x' }, 404, 'Was hier genannt ist, gibt es nicht'],
    [ownPath, ownPath, { billing_user_id: germanOwner.email }, 404, 'Niemand hier hat diese E-Mail-Adresse.'],
    [
      ownPath,
      ownPath,
      { billing_user_id: String(germanOwner.id) },
      404,
      'Diese Person hat kein aktives Konto in der Organisation.',
    ],
    [
      `${organisations}/merge?target_org_id=${id}&source_org_ids=${fixture.otherOrganisation}`,
      `${organisations}/merge`,
      { target_org_id: String(id), source_org_ids: String(id) },
      409,
      'nicht mit sich selbst zusammenführen',
    ],
    [
      '/dashboard/admin/users/invite',
      '/dashboard/admin/users/invite',
      { email: member.email, role: 'user', org_id: String(id) },
      409,
      `${member.email} gehört schon zur Organisation.`,
    ],
    [
      '/dashboard/admin/conversations',
      '/dashboard/admin/conversations/retention',
      { days: '3' },
      400,
      'Wählen Sie zuerst in der Verwaltungsansicht eine Organisation',
    ],
    [
      '/dashboard/autorouter',
      '/dashboard/admin/autorouter/org',
      { org_id: String(id), reference_model: 'absent' },
      422,
      'Es gibt kein Modell dieses Namens.',
    ],
    [
      '/dashboard/admin/billing',
      '/dashboard/admin/billing/adjust',
      { user_id: member.email, amount: '0', direction: 'credit', reason: 'ja', token: randomUUID() },
      422,
      'Die Grenze liegt bei 3 Zeichen.',
    ],
    [
      '/dashboard/admin/billing',
      '/dashboard/admin/billing/adjust',
      { user_id: member.email, amount: '0', direction: 'credit', reason: 'jaja', token: randomUUID() },
      422,
      'Geben Sie einen Betrag über 0 und bis 1000000 US-Dollar ein',
    ],
  ];
  for (const [shown, action, fields, status, words] of cases) {
    const answer = await fixture.submit(germanOwner, shown, action, fields);
    expect([action, answer.status]).toEqual([action, status]);
    expect([action, answer.text]).toEqual([action, expect.stringContaining(words)]);
  }
  const apiResponse = await fixture.post(germanOwner, organisations, { name: 'Twice', slug });
  expect(apiResponse.body).toMatchObject({
    human_message: 'Another organisation has this short name.',
    details: { reason: 'name-taken' },
  });
});

test('errors for users give their reason in German', async () => {
  const germanAdmin = await fixture.person('org_admin', { preferredLanguage: 'de' });
  const member = await fixture.person('user');
  const cases: [number, string, Record<string, string>, number, string][] = [
    [owner.id, 'role', { role: 'user' }, 403, 'Dazu braucht es die Rolle „Organisations-Inhaber“.'],
    [germanAdmin.id, 'role', { role: 'user' }, 403, 'Das eigene Konto können Sie hier nicht ändern.'],
    [member.id, 'role', { role: 'org_owner' }, 403, 'keine Rolle vergeben, die über Ihrer eigenen steht'],
    [member.id, 'billing-config', { billing_type: 'invoiced' }, 403, 'Nur Administratoren der Plattform'],
    [member.id, 'billing-config', { billing_type: 'delegated' }, 422, 'ein anderes Konto derselben'],
  ];
  for (const [id, act, fields, status, words] of cases) {
    const answer = await fixture.submit(
      germanAdmin,
      `${usersPath}/${id}`,
      `${usersPath}/${id}/${act}`,
      fields,
    );
    expect([act, answer.status]).toEqual([act, status]);
    expect([act, answer.text]).toEqual([act, expect.stringContaining(words)]);
  }
  const { text } = await fixture.get(germanAdmin, `${usersPath}/${owner.id}`);
  expect(text).toContain('Dazu braucht es die Rolle „Organisations-Inhaber“.');
});
