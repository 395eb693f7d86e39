import type { StoredRow } from '../../platform';

/** Columns of an entry's line, as text of the database so that nothing is rounded. */
export const LINE_COLUMNS = `
  id::text, to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS occurred_at, action, actor_kind,
  actor_user_id, actor_key_id::text, actor_role, actor_organisation_id, actor_label, user_id, organisation_id,
  department_id, object_type, object_id, object_label, changes::text, reason, address::text, request_id::text`;

export type ActivityLineRow = Omit<StoredRow<'activity'>, 'occurred_at' | 'changes'> & {
  readonly occurred_at: string;
  readonly changes: string | null;
};

/** An entry as one line of JSON, as digested and exported. The order of its fields never changes. */
export function lineOf(row: ActivityLineRow): string {
  const before = JSON.stringify({
    id: Number(row.id),
    occurred_at: row.occurred_at,
    action: row.action,
    actor_kind: row.actor_kind,
    actor_user_id: row.actor_user_id,
    actor_key_id: row.actor_key_id,
    actor_role: row.actor_role,
    actor_organisation_id: row.actor_organisation_id,
    actor_label: row.actor_label,
    user_id: row.user_id,
    organisation_id: row.organisation_id,
    department_id: row.department_id,
    object_type: row.object_type,
    object_id: row.object_id,
    object_label: row.object_label,
  });
  const after = JSON.stringify({ reason: row.reason, address: row.address, request_id: row.request_id });
  return `${before.slice(0, -1)},"changes":${row.changes ?? 'null'},${after.slice(1)}`;
}
