import {
  type ActivityFilter,
  loggedAction,
  type LoggedAction,
  objectTypes,
  type ObjectType,
} from '../../audit';
import { day, dayAfter, fault, line, oneOf, startOfDay } from '../../kernel';
import { Takes } from '../../platform';
import { IsCursor } from '../../web';

/** The address of the audit log. An empty field of its form stands for no filter. */
export class AuditLogQuery {
  /** A day, inclusive. */
  @Takes(day.orBlank())
  from?: string;

  /** A day, inclusive. */
  @Takes(day.orBlank())
  to?: string;

  /** The number of a person, or any part of the name or address of who acted. */
  @Takes(line(200).orBlank())
  actor?: string;

  @Takes(loggedAction.orBlank())
  action?: LoggedAction;

  @Takes(oneOf(objectTypes).orBlank())
  type?: ObjectType;

  /** The id of an object, or any part of its name. */
  @Takes(line(200).orBlank())
  object?: string;

  @IsCursor()
  cursor?: string;

  /** The entry whose details are open; scripts open them in place. */
  @Takes(line(20).optional())
  open?: string;
}

/** Days are those of the reader's time zone. */
export function filterOf(
  { from, to, actor: named, action, type, object }: AuditLogQuery,
  timeZone: string,
): Omit<ActivityFilter, 'limit' | 'cursor'> {
  const actor = named?.trim();
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
