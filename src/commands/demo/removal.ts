import { Client } from 'pg';
import type { TableRow } from '../../platform';
import { DEMO_SLUG } from './organisation';

/** Tables whose rows belong to the organisation by their own column, in an order that satisfies foreign keys. */
const byOrganisation = ['request_record', 'usage_hour', 'usage_label_hour', 'api_key'];

/**
 * Rows that the organisation's users created by using the portal. Ledger entries are permanent, so money that they
 * moved prevents the removal.
 */
const byUser = [
  ['session', 'user_id'],
  ['account_token', 'user_id'],
  ['legal_acceptance', 'user_id'],
  ['linked_identity', 'user_id'],
  ['passkey', 'user_id'],
  ['recovery_code', 'user_id'],
  ['second_factor', 'user_id'],
  ['invite', 'invited_by'],
] as const;

/** Removes everything or nothing, as the owner of the schema: the service itself cannot delete records. */
export async function removeDemo(ownerUrl: string): Promise<void> {
  const client = new Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    await client.query('BEGIN');
    const result = await client.query<TableRow<'organisation', 'id'>>(
      'SELECT id FROM organisation WHERE slug = $1 FOR UPDATE',
      [DEMO_SLUG],
    );
    const id = result.rows[0]?.id;
    if (id !== undefined) await removeOrganisation(client, id);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    await client.end();
  }
}

async function removeOrganisation(client: Client, id: number): Promise<void> {
  const owners = `
    SELECT 'organisation' AS kind, $1::bigint AS owner_id
    UNION ALL SELECT 'key', id FROM api_key WHERE organisation_id = $1
    UNION ALL SELECT 'user', id FROM user_account WHERE organisation_id = $1
    UNION ALL SELECT 'department', id FROM department WHERE organisation_id = $1
    UNION ALL SELECT 'project', id FROM project WHERE organisation_id = $1`;
  const windows = `SELECT w.id FROM spending_window w JOIN (${owners}) AS o USING (kind, owner_id)`;
  const refusals = 'SELECT id FROM api_key WHERE organisation_id = $1';
  await client.query(`DELETE FROM spending_bucket WHERE window_id IN (${windows})`, [id]);
  await client.query(`DELETE FROM escrow_slice WHERE window_id IN (${windows})`, [id]);
  await client.query(`DELETE FROM spending_window WHERE id IN (${windows})`, [id]);
  await client.query(
    `DELETE FROM budget_raise r USING (${owners}) AS o WHERE r.kind = o.kind AND r.owner_id = o.owner_id`,
    [id],
  );
  await client.query(
    `DELETE FROM spending_rule r USING (${owners}) AS o WHERE r.kind = o.kind AND r.owner_id = o.owner_id`,
    [id],
  );
  await client.query(`DELETE FROM refusal_hour WHERE key_id IN (${refusals})`, [id]);
  for (const table of byOrganisation)
    await client.query(`DELETE FROM ${table} WHERE organisation_id = $1`, [id]);
  // Daily sums are rebuilt without the organisation.
  await client.query('DELETE FROM usage_day_merged');
  await client.query('UPDATE organisation SET billing_user_id = NULL WHERE id = $1', [id]);
  await client.query('DELETE FROM project WHERE organisation_id = $1', [id]);
  for (const [table, column] of byUser) {
    await client.query(
      `DELETE FROM ${table} WHERE ${column} IN (SELECT id FROM user_account WHERE organisation_id = $1)`,
      [id],
    );
  }
  await client.query('DELETE FROM user_account WHERE organisation_id = $1', [id]);
  await client.query('DELETE FROM department WHERE organisation_id = $1', [id]);
  await client.query('DELETE FROM organisation WHERE id = $1', [id]);
}
