import { Limits } from '../../billing';
import { Organisation, UserAccount } from '../../identity';
import { parseUsd, platformScope, type Role } from '../../kernel';
import { KeysService, type NewKey } from '../../keys';
import type { Database, Row, Settings, Tx } from '../../platform';

export const DEMO_SLUG = 'demo-harbour-analytics';
/** Addresses below a name that is reserved for examples: no mail to them can ever arrive. */
const MAIL_HOST = 'harbour.example';

export interface DemoKey {
  readonly id: number;
  readonly name: string;
  readonly userId: number;
  readonly departmentId: number;
  readonly projectId: number;
  /** This key has this share of the traffic. */
  readonly weight: number;
  readonly style: 'agent' | 'batch' | 'chat' | 'search';
}

export interface DemoOrganisation {
  readonly id: number;
  readonly ownerId: number;
  readonly keys: readonly DemoKey[];
}

interface Person {
  readonly name: string;
  readonly role: Role;
  readonly department: string;
}

const departments = ['Engineering', 'Support', 'Research'] as const;

const people: readonly Person[] = [
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
  readonly person: string;
  readonly project: (typeof projects)[number];
  readonly limits?: Partial<NewKey>;
}

const monthly = (dollars: string): NewKey['budget'] => ({ limit: parseUsd(dollars), period: 'monthly' });

const keyPlans: readonly KeyPlan[] = [
  {
    name: 'forecast-api',
    person: 'David Okafor',
    project: 'Tide forecast',
    weight: 9,
    style: 'agent',
    limits: { rateLimitRpm: 120, rateLimitTpm: 400_000, maxParallel: 20 },
  },
  {
    name: 'forecast-nightly',
    person: 'Hugo Lambert',
    project: 'Tide forecast',
    weight: 5,
    style: 'batch',
    limits: { budget: monthly('400'), rateLimitRpm: 120 },
  },
  {
    name: 'help-desk',
    person: 'Elena Petrova',
    project: 'Help desk assistant',
    weight: 12,
    style: 'chat',
    limits: { rateLimitRpm: 240, maxParallel: 40 },
  },
  {
    name: 'help-desk-staging',
    person: 'Chiara Moretti',
    project: 'Help desk assistant',
    weight: 1,
    style: 'chat',
    limits: { budget: { limit: parseUsd('5'), period: 'daily' } },
  },
  {
    name: 'document-search',
    person: 'Farid Haddad',
    project: 'Port documents',
    weight: 8,
    style: 'search',
    limits: { allowedRegions: ['local'] },
  },
  { name: 'notebook', person: 'Grace Nakamura', project: 'Port documents', weight: 3, style: 'agent' },
  { name: 'ci', person: 'Bruno Keller', project: 'Tide forecast', weight: 2, style: 'batch' },
];

/** One organisation with departments, people, projects and keys, as a small company would have them. */
export async function makeOrganisation(
  tx: Tx,
  database: Database,
  settings: Settings,
): Promise<DemoOrganisation> {
  const organisation = tx
    .getRepository(Organisation)
    // A demonstration is exempt from payment, so no wallet is touched and no ledger entry is left behind.
    .create({ name: 'Harbour Analytics (demo)', slug: DEMO_SLUG, billingExempt: true });
  await tx.getRepository(Organisation).insert(organisation);
  const departmentIds = await addDepartments(tx, organisation.id);
  const userIds = new Map<string, number>();
  for (const person of people)
    userIds.set(person.name, await addPerson(tx, organisation.id, departmentIds, person));
  const projectIds = await addProjects(tx, organisation.id, userIds);
  const keys = new KeysService(settings, new Limits(database));
  const made: DemoKey[] = [];
  for (const plan of keyPlans) {
    const userId = idIn(userIds, plan.person);
    const department = people.find(({ name }) => name === plan.person)?.department ?? '';
    const owner = {
      userId,
      organisationId: organisation.id,
      departmentId: idIn(departmentIds, department),
      projectId: idIn(projectIds, plan.project),
    };
    const { id } = await keys.issue(platformScope, tx, {
      ...owner,
      kind: 'client',
      name: plan.name,
      createdBy: 'demonstration',
      ...plan.limits,
    });
    made.push({ ...owner, id, name: plan.name, weight: plan.weight, style: plan.style });
  }
  return { id: organisation.id, ownerId: idIn(userIds, 'Ada Lindqvist'), keys: made };
}

async function addDepartments(tx: Tx, organisationId: number): Promise<Map<string, number>> {
  const rows = await tx.query<Row<'department', 'id, name'>[]>(
    'INSERT INTO department (organisation_id, name) SELECT $1, unnest($2::text[]) RETURNING id, name',
    [organisationId, departments],
  );
  return new Map(rows.map(({ id, name }) => [name, id]));
}

export const emailOf = (name: string): string => `${name.toLowerCase().replace(' ', '.')}@${MAIL_HOST}`;

async function addPerson(
  tx: Tx,
  organisationId: number,
  departmentIds: ReadonlyMap<string, number>,
  { name, role, department }: Person,
): Promise<number> {
  const accounts = tx.getRepository(UserAccount);
  const account = accounts.create({
    email: emailOf(name),
    displayName: name,
    role,
    status: 'active',
    organisationId,
    departmentId: idIn(departmentIds, department),
  });
  await accounts.insert(account);
  return account.id;
}

async function addProjects(
  tx: Tx,
  organisationId: number,
  userIds: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  const rows = await tx.query<Row<'project', 'id, name'>[]>(
    `INSERT INTO project (organisation_id, name, created_by) SELECT $1, unnest($2::text[]), $3
     RETURNING id, name`,
    [organisationId, projects, idIn(userIds, 'Ada Lindqvist')],
  );
  const projectIds = new Map(rows.map(({ id, name }) => [name, id]));
  const members = keyPlans.map(
    (plan) => [idIn(projectIds, plan.project), idIn(userIds, plan.person)] as const,
  );
  await tx.query(
    `INSERT INTO project_member (project_id, user_id)
     SELECT DISTINCT * FROM unnest($1::integer[], $2::integer[])`,
    [members.map(([project]) => project), members.map(([, user]) => user)],
  );
  return projectIds;
}

function idIn(ids: ReadonlyMap<string, number>, name: string): number {
  const id = ids.get(name);
  if (id === undefined) throw new Error(`"${name}" was not made`);
  return id;
}
