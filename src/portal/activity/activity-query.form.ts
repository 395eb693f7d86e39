import { type ActivityFilter, objectTypes, type ObjectType } from '../../audit';
import { line, oneNumberOf, oneOf } from '../../kernel';
import { Takes } from '../../platform';
import { IsCursor, IsFilterText } from '../../web';

export const periods = [7, 30, 90, 365] as const;
const USUAL_DAYS = 30;
const DAY_MS = 86_400_000;

/** The address of the activity page. Empty fields of its form stand for no filter. */
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

export function filterOf(query: ActivityPageQuery, now: number): Omit<ActivityFilter, 'limit' | 'cursor'> {
  const { type, q } = query;
  return {
    from: new Date(now - query.days * DAY_MS),
    object: type === undefined ? null : { type },
    text: q === undefined || q.trim() === '' ? null : q.trim(),
  };
}
