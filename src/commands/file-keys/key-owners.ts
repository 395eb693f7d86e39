import type { DesiredKey, LocatedText } from '../../catalogue';
import { closestAddress, hasAddress, type Ownership } from '../../identity';
import type { Row, Tx } from '../../platform';

/** A value that cannot be what the file means. */
export class MisplacedText extends Error {
  constructor(
    readonly at: LocatedText['at'],
    problem: string,
  ) {
    super(problem);
  }
}

export interface KeyOwner extends Ownership {
  /** A plan shows it like this. */
  readonly label: string;
}

/** The file names this owner; null where it names none. Throws MisplacedText. */
export async function ownerIn(tx: Tx, { owner }: DesiredKey): Promise<KeyOwner | null> {
  const { user, organisation, department, project } = owner;
  if (department !== undefined && project !== undefined)
    throw new MisplacedText(project.at, 'a key is of a department or of a project');
  const given = [user, project, department, organisation].filter((text) => text !== undefined);
  if (given.length === 0) return null;
  const label = given.map(({ text }) => text).join(' · ');
  const person = user === undefined ? null : await personNamed(tx, user);
  const organisationId = organisation === undefined ? null : await organisationNamed(tx, organisation);
  const nowhere = { userId: person?.id ?? null, organisationId: null, departmentId: null, projectId: null };
  if (project !== undefined)
    return { ...nowhere, label, projectId: await projectNamed(tx, project, organisationId) };
  if (department !== undefined)
    return { ...nowhere, label, departmentId: await departmentNamed(tx, department, organisationId) };
  return { ...nowhere, label, organisationId: organisationId ?? person?.organisation ?? null };
}

/** A person may move to another organisation: their key goes along and stays theirs. */
export function isOwnedBy(key: Ownership, owner: KeyOwner, { owner: named }: DesiredKey): boolean {
  if (key.userId !== owner.userId || key.projectId !== owner.projectId) return false;
  // A key of a project may bear a department as well, which no file says.
  if (named.project !== undefined) return true;
  const isOfNone = named.organisation === undefined || named.department !== undefined;
  return key.departmentId === owner.departmentId && (isOfNone || key.organisationId === owner.organisationId);
}

async function personNamed(
  tx: Tx,
  { at, text }: LocatedText,
): Promise<{ id: number; organisation: number | null }> {
  const [person] = await tx.query<(Row<'user_account', 'id'> & { readonly organisation: number | null })[]>(
    `SELECT id, organisation_id AS organisation FROM user_account WHERE ${hasAddress('email', '$1')}
      ORDER BY ${closestAddress('email', '$1')} LIMIT 1`,
    [text],
  );
  if (person === undefined) throw new MisplacedText(at, `there is no user "${text}"`);
  return person;
}

async function organisationNamed(tx: Tx, { at, text }: LocatedText): Promise<number> {
  const rows = await tx.query<Found[]>('SELECT id FROM organisation WHERE slug = $1', [text]);
  return onlyOne(rows, at, `organisation "${text}"`);
}

async function departmentNamed(
  tx: Tx,
  { at, text }: LocatedText,
  organisationId: number | null,
): Promise<number> {
  if (organisationId === null) throw new MisplacedText(at, 'its organisation is missing');
  const rows = await tx.query<Found[]>(
    'SELECT id FROM department WHERE organisation_id = $1 AND name = $2 LIMIT 2',
    [organisationId, text],
  );
  return onlyOne(rows, at, `department "${text}"`);
}

/** It is found by its number, or by its name where that is the only one. */
async function projectNamed(
  tx: Tx,
  { at, text }: LocatedText,
  organisationId: number | null,
): Promise<number> {
  const number = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null;
  const rows = await tx.query<Found[]>(
    `SELECT id FROM project WHERE ($1::integer IS NULL OR organisation_id = $1) AND archived_at IS NULL
        AND CASE WHEN $3::integer IS NULL THEN name = $2 ELSE id = $3 END LIMIT 2`,
    [organisationId, text, number],
  );
  return onlyOne(rows, at, `project "${text}"`);
}

type Found = Row<'organisation' | 'department' | 'project', 'id'>;

function onlyOne([found, another]: readonly Found[], at: LocatedText['at'], what: string): number {
  if (found === undefined) throw new MisplacedText(at, `there is no ${what}`);
  if (another !== undefined)
    throw new MisplacedText(at, `there are several called ${what}: give the number of the one`);
  return found.id;
}
