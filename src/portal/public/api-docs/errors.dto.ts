import { IsIn, IsOptional, MatchesFormat } from '../../../web';

export const errorClasses = ['R', 'B', 'C', 'P', 'F'] as const;

export class ErrorsQuery {
  @IsOptional()
  @IsIn(['', ...errorClasses])
  class?: string;

  @IsOptional()
  @MatchesFormat(/^[^\p{Cc}]{0,100}$/u, 'one line of up to 100 characters')
  q?: string;

  /** Only codes that this version can return. */
  @IsOptional()
  @IsIn(['', 'reachable'])
  reach?: string;
}
