import { IsOptional, MatchesFormat } from '../web';

export class OutboxQuery {
  @IsOptional()
  @MatchesFormat(/^[\w-]{1,100}$/, 'the id of a mail')
  id?: string;

  /** Checked by DevelopmentGuard. */
  @IsOptional()
  token?: string;
}
