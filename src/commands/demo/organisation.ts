import { Organisation, UserAccount } from '../../identity';
import { parseUsd, platformScope, type UserRole } from '../../kernel';
import type { KeysService, NewKey } from '../../keys';
import type { TableRow, Tx } from '../../platform';

export const DEMO_SLUG = 'demo-harbour-analytics';
/** A domain that is reserved for examples, so that no email to it can ever arrive. */
const EMAIL_DOMAIN = 'harbour.example';

export interface DemoKey {
  readonly id: number;
  readonly name: string;
  readonly userId: number;
  readonly departmentId: number;
  readonly projectId: number;
  readonly weight: number;
  readonly style: 'agent' | 'batch' | 'chat' | 'search';
}

export interface DemoOrganisation {
  readonly id: number;
  readonly ownerId: number;
  readonly keys: readonly DemoKey[];
}

interface DemoUser {
  readonly name: string;
  readonly role: UserRole;
  readonly department: string;
}

const departments = ['Engineering', 'Support', 'Research'] as const;

const demoUsers: readonly DemoUser[] = [
  { name: 'Ada Lindqvist', role: 'org_owner', department: 'Engineering' },
  { name: 'Bruno Keller', role: 'org_admin', department: 'Engineering' },
  { name: 'Chiara Moretti', role: 'department_admin', department: 'Support' },
  { name: 'David Okafor', role: 'user', department: 'Engineering' },
  { name: 'Elena Petrova', role: 'user', department: 'Support' },
  { name: 'Farid Haddad', role: 'user', department: 'Research' },
  { name: 'Grace Nakamura', role: 'user', department: 'Research' },
  { name: 'Hugo Lambert', role: 'user', department: 'Engineering' },
];

const projects = ['Tide forecast', 'Help desk assistant', 'Port documents'] as const;

interface KeyPlan extends Pick<DemoKey, 'weight' | 'style'> {
  readonly name: string;
  readonly user: string;
  readonly project: (typeof projects)[number];
  readonly limits?: Partial<NewKey>;
}

const monthly = (dollars: string): NewKey['budget'] => ({ limit: parseUsd(dollars), period: 'monthly' });

const keyPlans: readonly KeyPlan[] = [
  {
    name: 'forecast-api',
    user: 'David Okafor',
    project: 'Tide forecast',
    weight: 9,
    style: 'agent',
    limits: { rateLimitRpm: 120, rateLimitTpm: 400_000, maxParallel: 20 },
  },
  {
    name: 'forecast-nightly',
    user: 'Hugo Lambert',
    project: 'Tide forecast',
    weight: 5,
    style: 'batch',
    limits: { budget: monthly('400'), rateLimitRpm: 120 },
  },
  {
    name: 'help-desk',
    user: 'Elena Petrova',
    project: 'Help desk assistant',
    weight: 12,
    style: 'chat',
    limits: { rateLimitRpm: 240, maxParallel: 40 },
  },
  {
    name: 'help-desk-staging',
    user: 'Chiara Moretti',
    project: 'Help desk assistant',
    weight: 1,
    style: 'chat',
    limits: { budget: { limit: parseUsd('5'), period: 'daily' } },
  },
  {
    name: 'document-search',
    user: 'Farid Haddad',
    project: 'Port documents',
    weight: 8,
    style: 'search',
    limits: { allowedRegions: ['local'] },
  },
  { name: 'notebook', user: 'Grace Nakamura', project: 'Port documents', weight: 3, style: 'agent' },
  { name: 'ci', user: 'Bruno Keller', project: 'Tide forecast', weight: 2, style: 'batch' },
];

export async function createOrganisation(tx: Tx, keys: KeysService): Promise<DemoOrganisation> {
  const organisation = tx
    .getRepository(Organisation)
    // The demonstration is exempt from payment, so that it touches no wallet and leaves no ledger entry.
    .create({ name: 'Harbour Analytics (demo)', slug: DEMO_SLUG, billingExempt: true });
  await tx.getRepository(Organisation).insert(organisation);
  const departmentIds = await addDepartments(tx, organisation.id);
  const userIds = new Map<string, number>();
  for (const user of demoUsers)
    userIds.set(user.name, await addUser(tx, organisation.id, departmentIds, user));
  const projectIds = await addProjects(tx, organisation.id, userIds);
  const createdKeys: DemoKey[] = [];
  for (const plan of keyPlans) {
    const userId = requireId(userIds, plan.user);
    const department = demoUsers.find(({ name }) => name === plan.user)?.department ?? '';
    const owner = {
      userId,
      organisationId: organisation.id,
      departmentId: requireId(departmentIds, department),
      projectId: requireId(projectIds, plan.project),
    };
    const { id } = await keys.issue(platformScope, tx, {
      ...owner,
      kind: 'client',
      name: plan.name,
      createdBy: 'demonstration',
      ...plan.limits,
    });
    createdKeys.push({ ...owner, id, name: plan.name, weight: plan.weight, style: plan.style });
  }
  return { id: organisation.id, ownerId: requireId(userIds, 'Ada Lindqvist'), keys: createdKeys };
}

async function addDepartments(tx: Tx, organisationId: number): Promise<Map<string, number>> {
  const rows = await tx.query<TableRow<'department', 'id, name'>[]>(
    'INSERT INTO department (organisation_id, name) SELECT $1, unnest($2::text[]) RETURNING id, name',
    [organisationId, departments],
  );
  return new Map(rows.map(({ id, name }) => [name, id]));
}

export const emailOf = (name: string): string => `${name.toLowerCase().replace(' ', '.')}@${EMAIL_DOMAIN}`;

async function addUser(
  tx: Tx,
  organisationId: number,
  departmentIds: ReadonlyMap<string, number>,
  { name, role, department }: DemoUser,
): Promise<number> {
  const accounts = tx.getRepository(UserAccount);
  const account = accounts.create({
    email: emailOf(name),
    displayName: name,
    role,
    status: 'active',
    organisationId,
    departmentId: requireId(departmentIds, department),
  });
  await accounts.insert(account);
  return account.id;
}

async function addProjects(
  tx: Tx,
  organisationId: number,
  userIds: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  const rows = await tx.query<TableRow<'project', 'id, name'>[]>(
    `INSERT INTO project (organisation_id, name, created_by) SELECT $1, unnest($2::text[]), $3
     RETURNING id, name`,
    [organisationId, projects, requireId(userIds, 'Ada Lindqvist')],
  );
  const projectIds = new Map(rows.map(({ id, name }) => [name, id]));
  const members = keyPlans.map(
    (plan) => [requireId(projectIds, plan.project), requireId(userIds, plan.user)] as const,
  );
  await tx.query(
    `INSERT INTO project_member (project_id, user_id)
     SELECT DISTINCT * FROM unnest($1::integer[], $2::integer[])`,
    [members.map(([project]) => project), members.map(([, user]) => user)],
  );
  return projectIds;
}

function requireId(ids: ReadonlyMap<string, number>, name: string): number {
  const id = ids.get(name);
  if (id === undefined) throw new Error(`"${name}" was not made`);
  return id;
}
