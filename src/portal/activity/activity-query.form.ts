import { Type } from 'class-transformer';
import { IsIn, IsInt, IsOptional, IsString, MaxLength } from 'class-validator';
import { type ActivityFilter, objectTypes, type ObjectType } from '../../audit';
import { IsCursor, IsFilterText } from '../../web';

export const periods = [7, 30, 90, 365] as const;
const USUAL_DAYS = 30;
const DAY_MS = 86_400_000;

/** The address of the activity page. Empty fields of its form stand for no filter. */
export class ActivityPageQuery {
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @IsIn(periods)
  days?: number;

  @IsOptional()
  @IsIn([...objectTypes, ''])
  type?: ObjectType | '';

  @IsFilterText()
  q?: string;

  @IsCursor()
  cursor?: string;

  /** The entry whose details are open; scripts open them in place. */
  @IsOptional()
  @IsString()
  @MaxLength(20)
  open?: string;
}

export const daysOf = ({ days }: ActivityPageQuery): number => days ?? USUAL_DAYS;

export function filterOf(query: ActivityPageQuery, now: number): Omit<ActivityFilter, 'limit' | 'cursor'> {
  const { type, q } = query;
  return {
    from: new Date(now - daysOf(query) * DAY_MS),
    object: type === undefined || type === '' ? null : { type },
    text: q === undefined || q.trim() === '' ? null : q.trim(),
  };
}
