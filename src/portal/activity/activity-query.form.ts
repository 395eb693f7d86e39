import { type ActivityFilter, objectTypes, type ObjectType } from '../../audit';
import { line, oneNumberOf, oneOf, type Period } from '../../kernel';
import { ParsedBy } from '../../platform';
import { IsCursor, IsFilterText } from '../../web';
import { DEFAULT_DAYS } from '../lists/periods';

export const periods = [7, 30, 90, 365] as const;

/** Query of the activity page. An empty field means no filter. */
export class ActivityPageQuery {
  @ParsedBy(oneNumberOf(periods).default(DEFAULT_DAYS))
  days: number;

  @ParsedBy(oneOf(objectTypes).orBlank())
  type?: ObjectType;

  @IsFilterText()
  q?: string;

  @IsCursor()
  cursor?: string;

  /** The entry whose details are open; scripts open them in place. */
  @ParsedBy(line(20).optional())
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
