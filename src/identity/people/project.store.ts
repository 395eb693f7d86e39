import type { TableRow, Tx } from '../../platform';
import { PROJECT_OF_USER } from '../own-projects.query';

/** Returns false if the user is a member already. */
export async function insertMember(tx: Tx, projectId: number, userId: number): Promise<boolean> {
  const rows = await tx.query<unknown[]>(
    'INSERT INTO project_member (project_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1',
    [projectId, userId],
  );
  return rows.length > 0;
}

/** Returns the address of the removed member; undefined if the user is not a member. */
export async function deleteMember(tx: Tx, projectId: number, userId: number): Promise<string | undefined> {
  const [rows] = await tx.query<[TableRow<'user_account', 'email'>[], number]>(
    `DELETE FROM project_member m USING user_account u
      WHERE m.project_id = $1 AND m.user_id = $2 AND u.id = m.user_id RETURNING u.email`,
    [projectId, userId],
  );
  return rows[0]?.email;
}

/** Deletes memberships that the account's organisation and role no longer allow; returns their number. */
export async function deleteForeignMemberships(tx: Tx, userId: number): Promise<number> {
  const [, affected] = await tx.query<[unknown[], number]>(
    `DELETE FROM project_member m USING project p, user_account u
      WHERE m.user_id = $1 AND p.id = m.project_id AND u.id = m.user_id AND ${PROJECT_OF_USER} IS NOT TRUE`,
    [userId],
  );
  return affected;
}
