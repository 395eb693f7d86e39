import { Transform } from 'class-transformer';
import { IsIn, IsOptional, IsString, Matches, MaxLength } from 'class-validator';
import { type ActionName, actionNames, type ActivityFilter, objectTypes, type ObjectType } from '../../audit';
import { dayAfter, fault, startOfDay } from '../../kernel';
import { IsCursor } from '../../web';

const days = /^(?:20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))?$/;
const trimmed = ({ value }: { value: unknown }): unknown =>
  typeof value === 'string' ? value.trim() : value;

/** The address of the audit log. Empty fields of its form stand for no filter. */
export class AuditLogQuery {
  /** A day, inclusive. */
  @IsOptional()
  @Matches(days)
  from?: string;

  /** A day, inclusive. */
  @IsOptional()
  @Matches(days)
  to?: string;

  /** The number of a person, or any part of the name or address of who acted. */
  @IsOptional()
  @Transform(trimmed)
  @IsString()
  @MaxLength(200)
  actor?: string;

  @IsOptional()
  @IsIn([...actionNames, ''])
  action?: ActionName | '';

  @IsOptional()
  @IsIn([...objectTypes, ''])
  type?: ObjectType | '';

  /** The id of an object, or any part of its name. */
  @IsOptional()
  @Transform(trimmed)
  @IsString()
  @MaxLength(200)
  object?: string;

  @IsCursor()
  cursor?: string;

  /** The entry whose details are open; scripts open them in place. */
  @IsOptional()
  @IsString()
  @MaxLength(20)
  open?: string;
}

/** Days are those of the reader's time zone. */
export function filterOf(
  { from, to, actor, action, type, object }: AuditLogQuery,
  timeZone: string,
): Omit<ActivityFilter, 'limit' | 'cursor'> {
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
    action: action || null,
    actorUserId: isNumber ? Number(actor) : null,
    actorText: isNumber ? null : (actor ?? null),
    object: type ? { type } : null,
    objectText: object ?? null,
  };
}
