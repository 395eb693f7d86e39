import type { ActivityEntry } from '../../audit';
import { actorOf, type CsvColumns, type HttpRequest, viewScope } from '../../web';

export const activityFile = (request: HttpRequest): CsvColumns<ActivityEntry> => ({
  occurred_at: ({ occurredAt }) => occurredAt,
  action: ({ action }) => action,
  actor_kind: ({ actor }) => actor.kind,
  actor: ({ actor }) => actor.label,
  actor_role: ({ actor }) => actor.role,
  object_type: ({ object }) => object.type,
  object_id: ({ object }) => object.id,
  object: ({ object }) => object.label,
  changes: ({ changes }) => changes,
  reason: ({ reason }) => reason,
  address: (entry) => visibleAddress(request, entry),
  request_id: ({ requestId }) => requestId,
  key_public_id: ({ object }) => object.keyPublicId,
});

/** Hides the IP address of administrators in a user's own feed. */
export function visibleAddress(request: HttpRequest, { actor, address }: ActivityEntry): string | null {
  const isOwn = actor.userId === actorOf(request).userId;
  return isOwn || viewScope(request).kind !== 'user' ? address : null;
}
