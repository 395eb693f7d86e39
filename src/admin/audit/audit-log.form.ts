import {
  type ActivityFilter,
  loggedAction,
  type LoggedAction,
  objectTypes,
  type ObjectType,
} from '../../audit';
import { day, dayAfter, fault, line, oneOf, startOfDay } from '../../kernel';
import { ParsedBy } from '../../platform';
import { IsCursor } from '../../web';

/** An empty field means no filter. */
export class AuditLogQuery {
  /** Inclusive day. */
  @ParsedBy(day.orBlank())
  from?: string;

  /** Inclusive day. */
  @ParsedBy(day.orBlank())
  to?: string;

  /** User number, or any part of the actor's name or email address. */
  @ParsedBy(line(200).orBlank())
  actor?: string;

  @ParsedBy(loggedAction.orBlank())
  action?: LoggedAction;

  @ParsedBy(oneOf(objectTypes).orBlank())
  type?: ObjectType;

  /** Object id, or any part of the object's name. */
  @ParsedBy(line(200).orBlank())
  object?: string;

  @IsCursor()
  cursor?: string;

  /** Entry whose details are expanded when scripts are not available. */
  @ParsedBy(line(20).optional())
  open?: string;
}

export function filterOf(
  { from, to, actor: actorInput, action, type, object }: AuditLogQuery,
  timeZone: string,
): Omit<ActivityFilter, 'limit' | 'cursor'> {
  const actor = actorInput?.trim();
  const isNumber = /^\d{1,9}$/.test(actor ?? '');
  if (from && to && from > to) {
    throw fault('invalid_request', {
      param: 'to',
      message: 'The last day is before the first one.',
      details: { reason: 'period-order' },
    });
  }
  return {
    from: from ? startOfDay(from, timeZone) : null,
    to: to ? startOfDay(dayAfter(to), timeZone) : null,
    action: action ?? null,
    actorUserId: isNumber ? Number(actor) : null,
    actorText: isNumber ? null : (actor ?? null),
    object: type ? { type } : null,
    objectText: object?.trim() ?? null,
  };
}
