import { type ActivityFilter, objectTypes, type ObjectType } from '../../audit';
import { line, oneNumberOf, oneOf, type Period } from '../../kernel';
import { Takes } from '../../platform';
import { IsCursor, IsFilterText } from '../../web';
import { USUAL_DAYS } from '../lists/periods';

export const periods = [7, 30, 90, 365] as const;

/** The address of the activity page. An empty field of its form stands for no filter. */
export class ActivityPageQuery {
  @Takes(oneNumberOf(periods).default(USUAL_DAYS))
  days: number;

  @Takes(oneOf(objectTypes).orBlank())
  type?: ObjectType;

  @IsFilterText()
  q?: string;

  @IsCursor()
  cursor?: string;

  /** The entry whose details are open; scripts open them in place. */
  @Takes(line(20).optional())
  open?: string;
}

export function filterOf(
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
