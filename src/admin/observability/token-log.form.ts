import { Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';

const MOST_ROWS = 1_000;
const FARTHEST_OFFSET = 100_000;
const LONGEST_WINDOW_HOURS = 90 * 24;

/** The parameters and defaults are those of the contract; an empty text filters nothing. */
export class TokenLogQuery {
  @IsOptional()
  @IsString()
  @MaxLength(200)
  provider: string = '';

  @IsOptional()
  @IsString()
  @MaxLength(200)
  key_name: string = '';

  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(MOST_ROWS)
  limit: number = 100;

  /** Several, with commas between them. */
  @IsOptional()
  @IsString()
  @MaxLength(200)
  kinds: string = '';

  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(0)
  since_ms: number = 0;

  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(0)
  @Max(FARTHEST_OFFSET)
  offset: number = 0;

  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(LONGEST_WINDOW_HOURS)
  window_hours: number = 24;

  @IsOptional()
  @IsString()
  @MaxLength(50)
  source: string = '';

  @IsOptional()
  @IsString()
  @MaxLength(100)
  error_kind: string = '';
}
