import { IsIn, IsOptional, MatchesFormat } from '../../web';

export const modelSorts = ['name', 'owner', 'context', 'input', 'output'] as const;
export type ModelSort = (typeof modelSorts)[number];
const orders = modelSorts.flatMap((sort) => [sort, `-${sort}`] as const);

/** Allows the empty text, as forms send empty fields. */
const filterPattern = /^[\w./:-]{0,100}$/;

export class PublicModelQuery {
  @IsOptional()
  @MatchesFormat(/^[^\p{Cc}]{0,100}$/u, 'one line of up to 100 characters')
  q?: string;

  @IsOptional()
  @MatchesFormat(filterPattern, 'up to 100 letters, digits and . / : _ -')
  kind?: string;

  @IsOptional()
  @MatchesFormat(filterPattern, 'up to 100 letters, digits and . / : _ -')
  modality?: string;

  @IsOptional()
  @MatchesFormat(/^[^\p{Cc}]{0,100}$/u, 'one line of up to 100 characters')
  provider?: string;

  @IsOptional()
  @MatchesFormat(filterPattern, 'up to 100 letters, digits and . / : _ -')
  region?: string;

  /** In dollars per million input tokens. */
  @IsOptional()
  @MatchesFormat(/^(\d{1,6}(\.\d{1,6})?)?$/, 'an amount of US dollars, like 0.05')
  max_price?: string;

  @IsOptional()
  @IsIn(['', 'yes'])
  tools?: string;

  @IsOptional()
  @IsIn(['', ...orders])
  sort?: string;

  @IsOptional()
  @MatchesFormat(/^[1-9]\d{0,3}$/, 'a whole number from 1 to 9999')
  page?: string;

  @IsOptional()
  @IsIn(['json', 'html'])
  format?: string;
}
