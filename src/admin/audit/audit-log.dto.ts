import {
  type ActivityFilter,
  loggedAction,
  type LoggedAction,
  objectTypes,
  type ObjectType,
} from '../../audit';
import { dayAfter, fault, startOfDay } from '../../kernel';
import { IsCursor, IfPresent, IsDay, IsOneOf, IsVerbatimLine, ParsedBy } from '../../web';

/** An empty field means no filter. */
export class AuditLogQuery {
  /** Inclusive day. */
  @IsDay({ optional: true })
  from?: string;

  /** Inclusive day. */
  @IsDay({ optional: true })
  to?: string;

  /** User number, or any part of the actor's name or email address. */
  @IsVerbatimLine(200, { optional: true })
  actor?: string;

  @ParsedBy(loggedAction, { optional: true })
  action?: LoggedAction;

  @IsOneOf(objectTypes, { optional: true })
  type?: ObjectType;

  /** Object id, or any part of the object's name. */
  @IsVerbatimLine(200, { optional: true })
  object?: string;

  @IsCursor()
  cursor?: string;

  /** Entry whose details are expanded when scripts are not available. */
  @IfPresent()
  @IsVerbatimLine(20)
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
