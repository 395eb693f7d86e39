import type { ActivityEntry } from '../../audit';
import { actorOf, type HttpRequest, viewScope } from '../../web';

export const activityColumns = [
  'occurred_at',
  'action',
  'actor_kind',
  'actor',
  'actor_role',
  'object_type',
  'object_id',
  'object',
  'changes',
  'reason',
  'address',
  'request_id',
  'key_public_id',
] as const;

export const activityRow = (entry: ActivityEntry, request: HttpRequest): readonly unknown[] => [
  entry.occurredAt,
  entry.action,
  entry.actor.kind,
  entry.actor.label,
  entry.actor.role,
  entry.object.type,
  entry.object.id,
  entry.object.label,
  entry.changes,
  entry.reason,
  addressFor(request, entry),
  entry.requestId,
  entry.object.keyPublicId,
];

/** In one's own feed, from where an administrator acted is none of one's business. */
export function addressFor(request: HttpRequest, { actor, address }: ActivityEntry): string | null {
  const isOwn = actor.userId === actorOf(request).userId;
  return isOwn || viewScope(request).kind !== 'user' ? address : null;
}
