import type { Tx } from '../../platform';

/** Departments keep their users; if two have the same name, that of the source gets its organisation's slug added. */
const renameDepartments = `
  UPDATE department d SET name = left(d.name, 60) || ' (' || left(o.slug, 30) || ' ' || d.id || ')'
    FROM organisation o WHERE o.id = d.organisation_id AND d.organisation_id = ANY ($1::integer[]) AND (
      EXISTS (SELECT FROM department t WHERE t.organisation_id = $2 AND t.name = d.name)
      OR EXISTS (SELECT FROM department t WHERE t.organisation_id = ANY ($1::integer[]) AND t.name = d.name AND t.id < d.id))`;

/** A single statement moves both, because a user and their department refer to each other's organisation. */
const moveUsers = `
  WITH moved AS (
    UPDATE department SET organisation_id = $2, version = version + 1 WHERE organisation_id = ANY ($1::integer[])),
  invited AS (UPDATE invite SET organisation_id = $2 WHERE organisation_id = ANY ($1::integer[]))
  UPDATE user_account SET organisation_id = $2, version = version + 1 WHERE organisation_id = ANY ($1::integer[])`;

/** Moves departments, invitations, users, projects and reseller domains of the sources to the target. */
export async function moveMembers(tx: Tx, sourceIds: readonly number[], targetId: number): Promise<void> {
  await tx.query(renameDepartments, [sourceIds, targetId]);
  await tx.query(moveUsers, [sourceIds, targetId]);
  await tx.query(
    'UPDATE project SET organisation_id = $2, version = version + 1 WHERE organisation_id = ANY ($1::integer[])',
    [sourceIds, targetId],
  );
  await tx.query(
    'UPDATE reseller_domain SET organisation_id = $2 WHERE organisation_id = ANY ($1::integer[])',
    [sourceIds, targetId],
  );
}
