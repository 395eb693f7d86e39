import { type ActivityFilter, objectTypes, type ObjectType } from '../../audit';
import type { Period } from '../../kernel';
import { IsCursor, IsFilterText, IfPresent, IsOneNumberOf, IsOneOf, IsVerbatimLine } from '../../web';
import { DEFAULT_DAYS } from '../lists/periods';

export const periods = [7, 30, 90, 365] as const;

/** Query of the activity page. An empty field means no filter. */
export class ActivityPageQuery {
  @IsOneNumberOf(periods, { default: DEFAULT_DAYS })
  days: number;

  @IsOneOf(objectTypes, { optional: true })
  type?: ObjectType;

  @IsFilterText()
  q?: string;

  @IsCursor()
  cursor?: string;

  /** The entry whose details are open; scripts open them in place. */
  @IfPresent()
  @IsVerbatimLine(20)
  open?: string;
}

export function toActivityFilter(
  query: ActivityPageQuery,
  { from }: Period,
): Omit<ActivityFilter, 'limit' | 'cursor'> {
  const { type, q } = query;
  return {
    from,
    object: type === undefined ? null : { type },
    text: q === undefined || q.trim() === '' ? null : q.trim(),
  };
}
