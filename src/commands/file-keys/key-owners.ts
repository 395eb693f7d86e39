import type { DesiredKey, LocatedText } from '../../catalogue';
import { closestAddress, hasAddress, type Ownership } from '../../identity';
import type { TableRow, Tx } from '../../platform';

export class InvalidTextError extends Error {
  constructor(
    readonly at: LocatedText['at'],
    problem: string,
  ) {
    super(problem);
  }
}

export interface KeyOwner extends Ownership {
  readonly label: string;
}

/** Returns the owner that the file names; null if it names none. Throws InvalidTextError. */
export async function findOwner(tx: Tx, { owner }: DesiredKey): Promise<KeyOwner | null> {
  const { user, organisation, department, project } = owner;
  if (department !== undefined && project !== undefined)
    throw new InvalidTextError(project.at, 'a key is of a department or of a project');
  const ownerTexts = [user, project, department, organisation].filter((text) => text !== undefined);
  if (ownerTexts.length === 0) return null;
  const label = ownerTexts.map(({ text }) => text).join(' · ');
  const account = user === undefined ? null : await findUser(tx, user);
  const organisationId = organisation === undefined ? null : await findOrganisation(tx, organisation);
  const unowned = { userId: account?.id ?? null, organisationId: null, departmentId: null, projectId: null };
  if (project !== undefined)
    return { ...unowned, label, projectId: await findProject(tx, project, organisationId) };
  if (department !== undefined)
    return { ...unowned, label, departmentId: await findDepartment(tx, department, organisationId) };
  return { ...unowned, label, organisationId: organisationId ?? account?.organisation ?? null };
}

/** A user can move to another organisation: the key moves along and stays theirs. */
export function isOwnedBy(key: Ownership, owner: KeyOwner, { owner: desiredOwner }: DesiredKey): boolean {
  if (key.userId !== owner.userId || key.projectId !== owner.projectId) return false;
  // The key of a project can also have a department, which no file names.
  if (desiredOwner.project !== undefined) return true;
  const isAnyOrganisation = desiredOwner.organisation === undefined || desiredOwner.department !== undefined;
  return (
    key.departmentId === owner.departmentId &&
    (isAnyOrganisation || key.organisationId === owner.organisationId)
  );
}

async function findUser(
  tx: Tx,
  { at, text }: LocatedText,
): Promise<{ id: number; organisation: number | null }> {
  const [account] = await tx.query<
    (TableRow<'user_account', 'id'> & { readonly organisation: number | null })[]
  >(
    `SELECT id, organisation_id AS organisation FROM user_account WHERE ${hasAddress('email', '$1')}
      ORDER BY ${closestAddress('email', '$1')} LIMIT 1`,
    [text],
  );
  if (account === undefined) throw new InvalidTextError(at, `there is no user "${text}"`);
  return account;
}

async function findOrganisation(tx: Tx, { at, text }: LocatedText): Promise<number> {
  const rows = await tx.query<OwnerIdRow[]>('SELECT id FROM organisation WHERE slug = $1', [text]);
  return requireOne(rows, at, `organisation "${text}"`);
}

async function findDepartment(
  tx: Tx,
  { at, text }: LocatedText,
  organisationId: number | null,
): Promise<number> {
  if (organisationId === null) throw new InvalidTextError(at, 'its organisation is missing');
  const rows = await tx.query<OwnerIdRow[]>(
    'SELECT id FROM department WHERE organisation_id = $1 AND name = $2 LIMIT 2',
    [organisationId, text],
  );
  return requireOne(rows, at, `department "${text}"`);
}

/** Finds a project by its id, or by its name if the name is unique. */
async function findProject(
  tx: Tx,
  { at, text }: LocatedText,
  organisationId: number | null,
): Promise<number> {
  const number = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null;
  const rows = await tx.query<OwnerIdRow[]>(
    `SELECT id FROM project WHERE ($1::integer IS NULL OR organisation_id = $1) AND archived_at IS NULL
        AND CASE WHEN $3::integer IS NULL THEN name = $2 ELSE id = $3 END LIMIT 2`,
    [organisationId, text, number],
  );
  return requireOne(rows, at, `project "${text}"`);
}

type OwnerIdRow = TableRow<'organisation' | 'department' | 'project', 'id'>;

function requireOne([row, second]: readonly OwnerIdRow[], at: LocatedText['at'], label: string): number {
  if (row === undefined) throw new InvalidTextError(at, `there is no ${label}`);
  if (second !== undefined)
    throw new InvalidTextError(at, `there are several called ${label}: give the number of the one`);
  return row.id;
}
