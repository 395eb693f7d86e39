import { expectSession, mailTo, newAddress } from '../../../operations/accounts';
import { type ReadResponse, expect, eventually } from '../../../operations/http';
import type { PortalUser, World } from '../../../operations/world';
import type { UserRole } from '../../../../src/kernel';
import { type SpecificationDecision, openPoint, row, type SpecificationRow } from '../../row';
import {
  ADMIN,
  type Json,
  callTo,
  call,
  clientOf,
  equal,
  expectFrom,
  uniqueName,
  inHtml,
  expectRedirect,
  newDepartment,
  okHtml,
  okJson,
  platform,
  expectRejected,
  refusesAnonymous,
  newMember,
} from './row-helpers';

const users = `${ADMIN}/users`;

/** The account as returned by a change. */
const userIn = (answer: ReadResponse): Json => okJson(answer)['user'] as Json;

async function change(world: World, { userId }: PortalUser, act: string, json: object): Promise<Json> {
  return userIn(await (await platform(world)).post(`${users}/${userId}/${act}`, { json }));
}

/** A tab of the account page. */
const pageOf = async (world: World, { userId }: PortalUser, tab = 'overview'): Promise<string> =>
  okHtml(await (await platform(world)).get(`${users}/${userId}?tab=${tab}`, inHtml));

const lists: readonly SpecificationRow[] = [
  row('4.10', `\`GET ${users}\` is the page that lists users`, async (world) => {
    const { email } = await newMember(world);
    okHtml(await (await platform(world)).get(`${users}?q=${encodeURIComponent(email)}`), email);
  }),
  row('4.10', `\`GET ${users}/{user_id}\` is the page of a user`, async (world) => {
    const { userId, email } = await newMember(world);
    okHtml(await (await platform(world)).get(`${users}/${userId}`), email);
  }),
];

const changes: readonly SpecificationRow[] = [
  row(
    '4.10',
    `\`POST ${users}/{user_id}/role\` sets the role, and with it what the user can reach`,
    async (world) => {
      const person = await newMember(world);
      for (const [role, status] of [
        ['org_admin', 200],
        ['user', 403],
      ] as const) {
        equal((await change(world, person, 'role', { role }))['role'], role, 'the role');
        const { client } = await world.signIn({ id: person.userId, email: person.email });
        equal((await client.get(users, inHtml)).status, status, `the list of users for ${role}`);
      }
    },
  ),
  row(
    '4.10',
    `\`POST ${users}/{user_id}/billing-exempt\` toggles whether the user is exempt from billing`,
    async (world) => {
      const person = await world.newPerson({ organisationId: world.organisationId, billingExempt: false });
      equal(
        (await change(world, person, 'billing-exempt', {}))['billing_exempt'],
        true,
        'after the first time',
      );
      equal(
        (await change(world, person, 'billing-exempt', {}))['billing_exempt'],
        false,
        'after the second time',
      );
    },
  ),
  row('4.10', `\`POST ${users}/{user_id}/credit-limit\` sets the credit limit`, async (world) => {
    const person = await world.newPerson();
    await change(world, person, 'credit-limit', { credit_limit: 3 });
    expect((await pageOf(world, person, 'billing')).includes('$3.00'), 'the page shows it');
  }),
  row('4.10', `\`POST ${users}/{user_id}/monthly-budget\` sets the monthly budget`, async (world) => {
    const person = await newMember(world);
    await change(world, person, 'monthly-budget', { monthly_budget: 4.5 });
    expect((await pageOf(world, person, 'billing')).includes('$4.50'), 'the page shows it');
  }),
  row(
    '4.10',
    `\`POST ${users}/{user_id}/billing-config\` sets the type, the budget and the period of a billed user`,
    async (world) => {
      const person = await newMember(world);
      const json = { billing_type: 'invoiced', budget: 2, budget_period: 'daily' };
      const {
        billing_type: type,
        budget,
        budget_period: period,
      } = await change(world, person, 'billing-config', json);
      equal([type, budget, period], ['invoiced', 2, 'daily'], 'type, budget and period');
    },
  ),
  row(
    '2.6',
    'The monthly budget of a user and the budget of the billing config are two attributes',
    async (world) => {
      const person = await newMember(world);
      await change(world, person, 'monthly-budget', { monthly_budget: 7.25 });
      const config = { billing_type: 'prepaid', budget: 2.5, budget_period: 'daily' };
      await change(world, person, 'billing-config', config);
      const page = await pageOf(world, person, 'billing');
      expect(page.includes('$7.25') && page.includes('$2.50'), 'the page shows both');
    },
  ),
  row(
    '4.10',
    `\`POST ${users}/{user_id}/status\` sets the status, which session and keys obey`,
    async (world) => {
      const person = await newMember(world);
      const key = await world.newKey(person);
      for (const status of ['suspended', 'active', 'archived', 'active']) {
        equal((await change(world, person, 'status', { status }))['status'], status, 'the status');
        const { client } = await world.signIn({ id: person.userId, email: person.email });
        const page = await client.get('/dashboard', inHtml);
        if (status === 'active') {
          okHtml(page);
          await eventually(async () => (await call(key.client)).status === 200, 'the key works again');
        } else {
          expectRedirect(page, `/account/${status}`);
          await eventually(async () => (await call(key.client)).status !== 200, 'the key is refused');
          expectRejected(await call(key.client), 403, 'account_status');
        }
      }
    },
  ),
  row('4.10', `\`POST ${users}/{user_id}/hard-delete\` deletes a user for good`, async (world) => {
    const { userId, client, email } = await newMember(world);
    const admin = await platform(world);
    okJson(await admin.post(`${users}/${userId}/hard-delete`, { json: { reason: 'asked for' } }));
    await expectSession(client, false);
    const page = okHtml(await admin.get(`${users}?q=${encodeURIComponent(email)}`, inHtml));
    expect(!page.includes(`${users}/${userId}"`), 'the user is no longer listed');
  }),
  row(
    '4.10',
    `\`POST ${users}/{user_id}/org\` assigns a user to an organisation, whose administrators then see the user`,
    async (world) => {
      const person = await newMember(world);
      const [ours, theirs] = [await clientOf(world, 'org_admin'), (await world.stranger('org_admin')).client];
      const statuses = async () => {
        const path = `${users}/${person.userId}`;
        return [(await ours.get(path, inHtml)).status, (await theirs.get(path, inHtml)).status];
      };
      equal(await statuses(), [200, 404], 'before, for administrators of ours and of theirs');
      await change(world, person, 'org', { org_id: world.otherOrganisationId });
      equal(await statuses(), [404, 200], 'afterwards');
    },
  ),
  row('4.10', `\`POST ${users}/{user_id}/department\` assigns a user to a department`, async (world) => {
    const person = await newMember(world);
    const to = await newDepartment(world, world.organisationId);
    const json = { department_id: to };
    equal((await change(world, person, 'department', json))['department_id'], to, 'the department');
  }),
];

/** The minimum role for a change; each role changes another user. */
const minimumRoleRow = (
  act: string,
  minimumRole: UserRole,
  description: string,
  json: (world: World) => object | Promise<object>,
  decided: SpecificationDecision | null = null,
): SpecificationRow => {
  const check = async (world: World): Promise<void> => {
    await world.rows('UPDATE organisation SET credit_ceiling_nano = 1000000000000000');
    await expectFrom(world, minimumRole, async ({ client }) => {
      const { userId } = await newMember(world);
      return client.post(`${users}/${userId}/${act}`, { json: await json(world) });
    });
    const foreign = await world.newPerson({ organisationId: world.otherOrganisationId });
    const stranger = await (
      await clientOf(world, 'org_owner')
    ).post(`${users}/${foreign.userId}/${act}`, {
      json: await json(world),
    });
    expect([403, 404].includes(stranger.status), `a user of another organisation: ${stranger.status}`);
  };
  return row('4.10', `\`POST ${users}/{user_id}/${act}\` is for ${description}`, check, { decided });
};

const ofPlatform = openPoint('owner or platform admin means the owner or an administrator of the platform');

const rights: readonly SpecificationRow[] = [
  minimumRoleRow(
    'billing-exempt',
    'platform_admin',
    'owners and administrators of the platform only',
    () => ({ billing_exempt: true }),
    ofPlatform,
  ),
  minimumRoleRow(
    'credit-limit',
    'org_admin',
    'owners, administrators of the platform and of organisations, or above',
    () => ({
      credit_limit: 1,
    }),
    openPoint('credit limits of an organisation stay within a ceiling that the platform sets'),
  ),
  minimumRoleRow(
    'monthly-budget',
    'platform_admin',
    'owners and administrators of the platform only',
    () => ({ monthly_budget: 5 }),
    ofPlatform,
  ),
  minimumRoleRow('billing-config', 'org_admin', 'administrators only', () => ({
    billing_type: 'prepaid',
    budget: 5,
    budget_period: 'monthly',
  })),
  minimumRoleRow(
    'org',
    'platform_admin',
    'administrators of the platform only',
    ({ otherOrganisationId }) => ({
      org_id: otherOrganisationId,
    }),
  ),
  minimumRoleRow(
    'department',
    'org_admin',
    'administrators of the platform and of organisations only',
    async (world) => ({
      department_id: await newDepartment(world, world.organisationId),
    }),
  ),
];

const invitePath = `${users}/invite`;

const invites: readonly SpecificationRow[] = [
  row('4.10', `\`GET ${invitePath}\` is the form to invite`, async (world) => {
    okHtml(await (await clientOf(world, 'org_admin')).get(invitePath), `action="${invitePath}"`);
  }),
  row('4.10', `\`POST ${invitePath}\` creates an invitation`, async (world) => {
    const email = newAddress();
    const client = await clientOf(world, 'org_admin');
    const creation = okJson(await client.post(invitePath, { json: { email, role: 'user' } }));
    const [id] = creation['invites'] as unknown[];
    expect(Number.isInteger(id), `its id: ${JSON.stringify(creation)}`);
    expect((await mailTo(world, email, /./)).text.includes('/invite/'), 'a mail leads to it');
  }),
  row('4.10', `\`POST ${invitePath}/{invite_id}/revoke\` revokes a pending invitation`, async (world) => {
    const client = await clientOf(world, 'org_admin');
    const creation = okJson(await client.post(invitePath, { json: { email: newAddress(), role: 'user' } }));
    const [id] = creation['invites'] as number[];
    const stranger = await world.stranger('org_admin');
    expectRejected(await stranger.client.post(`${invitePath}/${id}/revoke`), 404, 'not_found');
    okJson(await client.post(`${invitePath}/${id}/revoke`));
    expectRejected(await client.post(`${invitePath}/${id}/revoke`), 409, 'conflict');
  }),
];

const projects = `${ADMIN}/projects`;

async function newProject(world: World, organisationId: number, creator: PortalUser): Promise<string> {
  const name = uniqueName('project');
  await world.rows('INSERT INTO project (organisation_id, name, created_by) VALUES ($1, $2, $3)', [
    organisationId,
    name,
    creator.userId,
  ]);
  return name;
}

/** Projects of the given ones that the user can see. */
async function visibleProjects(person: PortalUser, names: readonly string[]): Promise<string[]> {
  const visible = await Promise.all(
    names.map(async (name) =>
      okHtml(await person.client.get(`${projects}?q=${name}`, inHtml)).includes(`>${name}<`),
    ),
  );
  return names.filter((_name, at) => visible[at]);
}

const projectRows: readonly SpecificationRow[] = [
  row(
    '4.10',
    `\`GET ${projects}\` shows administrators of the platform the projects of all organisations`,
    async (world) => {
      const [one, other] = [await world.person('org_admin'), await world.stranger('org_admin')];
      const names = [
        await newProject(world, world.organisationId, one),
        await newProject(world, world.otherOrganisationId, other),
      ];
      equal(await visibleProjects(await world.person('platform_admin'), names), names, 'the projects');
    },
  ),
  row(
    '4.10',
    `\`GET ${projects}\` has a list of organisations to choose from for administrators of the platform`,
    async (world) => {
      const page = okHtml(await (await platform(world)).get(projects, inHtml));
      const choice = /<select[^>]*name="org_id"[\s\S]*?<\/select>/.exec(page)?.[0] ?? '';
      for (const name of ['ours', 'theirs'])
        expect(choice.includes(name), `"${name}" can be chosen: ${choice}`);
    },
  ),
  row('4.10', `\`GET ${projects}\` shows administrators of an organisation its projects`, async (world) => {
    const [one, other] = [await world.person('org_admin'), await world.stranger('org_admin')];
    const ownProject = await newProject(world, world.organisationId, await world.person('user'));
    const names = [ownProject, await newProject(world, world.otherOrganisationId, other)];
    equal(await visibleProjects(one, names), [ownProject], 'the projects');
    equal(await visibleProjects(await world.person('org_owner'), names), [ownProject], 'those of the owner');
  }),
  row(
    '4.10',
    `\`GET ${projects}\` shows administrators of a department the projects they created or belong to`,
    async (world) => {
      const one = await world.newPerson({ role: 'department_admin', organisationId: world.organisationId });
      const createdProject = await newProject(world, world.organisationId, one);
      const foreignProject = await newProject(world, world.organisationId, await world.person('org_admin'));
      const other = await newProject(world, world.organisationId, await world.person('org_admin'));
      await world.rows(
        'INSERT INTO project_member (project_id, user_id) SELECT id, $2 FROM project WHERE name = $1',
        [foreignProject, one.userId],
      );
      equal(
        await visibleProjects(one, [createdProject, foreignProject, other]),
        [createdProject, foreignProject],
        'the projects',
      );
    },
  ),
  row('4.10', `\`GET ${projects}\` answers 403 below administrators`, async (world) => {
    await refusesAnonymous(world, callTo('GET', projects));
    await expectFrom(world, 'department_admin', ({ client }) => client.get(projects));
  }),
];

export const peopleRows: readonly SpecificationRow[] = [
  ...lists,
  ...changes,
  ...rights,
  ...invites,
  ...projectRows,
];
