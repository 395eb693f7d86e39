import type { ActivityEntry } from '../../audit';
import type { CsvColumns } from '../../web';

export const auditLogCsvColumns: CsvColumns<ActivityEntry> = {
  occurred_at: ({ occurredAt }) => occurredAt,
  entry_id: ({ id }) => id,
  action: ({ action }) => action,
  actor_kind: (entry) => entry.actor.kind,
  actor_user_id: (entry) => entry.actor.userId,
  actor_key_id: (entry) => entry.actor.keyId,
  actor: (entry) => entry.actor.label,
  actor_role: (entry) => entry.actor.role,
  actor_organisation_id: (entry) => entry.actor.organisationId,
  organisation_id: ({ organisationId }) => organisationId,
  department_id: ({ departmentId }) => departmentId,
  user_id: ({ userId }) => userId,
  object_type: (entry) => entry.object.type,
  object_id: (entry) => entry.object.id,
  object: (entry) => entry.object.label,
  changes: ({ changes }) => changes,
  reason: ({ reason }) => reason,
  address: ({ address }) => address,
  request_id: ({ requestId }) => requestId,
  key_public_id: (entry) => entry.object.keyPublicId,
};
