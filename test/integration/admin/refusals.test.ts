import { randomUUID } from 'node:crypto';
import { House, type Person } from './house';

/** The refusals of the administration are told with their reason, in the reader's language. */
const organisations = '/dashboard/admin/organisations';
const people = '/dashboard/admin/users';
let house: House;
let platform: Person;
let owner: Person;

beforeAll(async () => {
  house = await House.open();
  [platform, owner] = [await house.person('platform_admin'), await house.person('org_owner')];
});
afterAll(() => house.close());

test('organisations, departments, invitations, retention and billing', async () => {
  const german = await house.person('platform_owner', { preferredLanguage: 'de' });
  const id = await house.organisation();
  const { slug } = await house.row<{ slug: string }>('SELECT slug FROM organisation WHERE id = $1', [id]);
  const member = await house.person('user', { organisationId: id });
  await house.post(platform, '/dashboard/admin/departments', { name: 'Research', org_id: id });
  const own = `${organisations}/${id}`;
  const refused: [string, string, Record<string, string>, number, string][] = [
    [`${organisations}/new`, organisations, { name: 'Zweite', slug }, 409, 'Dieser Name ist schon vergeben.'],
    [own, `${own}/delete`, { confirmation: 'x' }, 409, `Geben Sie zur Bestätigung „${slug}“ ein.`],
    [
      own,
      `${own}/delete`,
      { confirmation: slug },
      409,
      'nicht leer – Personen: 1, Projekte: 0, Abteilungen: 1, Schlüssel: 0.',
    ],
    [own, own, { sso_only: 'on' }, 409, 'Es ist kein Identitätsanbieter eingerichtet'],
    [own, `${organisations}/999999`, { name: 'x' }, 404, 'Was hier genannt ist, gibt es nicht'],
    [own, own, { billing_user_id: german.email }, 404, 'Niemand hier hat diese E-Mail-Adresse.'],
    [
      own,
      own,
      { billing_user_id: String(german.id) },
      404,
      'Diese Person hat kein aktives Konto in der Organisation.',
    ],
    [
      `${organisations}/merge?target_org_id=${id}&source_org_ids=${house.theirs}`,
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
  for (const [shown, action, fields, status, words] of refused) {
    const answer = await house.submit(german, shown, action, fields);
    expect([action, answer.status]).toEqual([action, status]);
    expect([action, answer.text]).toEqual([action, expect.stringContaining(words)]);
  }
  const program = await house.post(german, organisations, { name: 'Twice', slug });
  expect(program.body).toMatchObject({
    human_message: 'Another organisation has this short name.',
    details: { reason: 'name-taken' },
  });
});

test('people', async () => {
  const german = await house.person('org_admin', { preferredLanguage: 'de' });
  const member = await house.person('user');
  const refused: [number, string, Record<string, string>, number, string][] = [
    [owner.id, 'role', { role: 'user' }, 403, 'Dazu braucht es die Rolle „Organisations-Inhaber“.'],
    [german.id, 'role', { role: 'user' }, 403, 'Das eigene Konto können Sie hier nicht ändern.'],
    [member.id, 'role', { role: 'org_owner' }, 403, 'keine Rolle vergeben, die über Ihrer eigenen steht'],
    [member.id, 'billing-config', { billing_type: 'invoiced' }, 403, 'Nur Administratoren der Plattform'],
    [member.id, 'billing-config', { billing_type: 'delegated' }, 422, 'ein anderes Konto derselben'],
  ];
  for (const [id, act, fields, status, words] of refused) {
    const answer = await house.submit(german, `${people}/${id}`, `${people}/${id}/${act}`, fields);
    expect([act, answer.status]).toEqual([act, status]);
    expect([act, answer.text]).toEqual([act, expect.stringContaining(words)]);
  }
  const { text } = await house.get(german, `${people}/${owner.id}`);
  expect(text).toContain('Dazu braucht es die Rolle „Organisations-Inhaber“.');
});
