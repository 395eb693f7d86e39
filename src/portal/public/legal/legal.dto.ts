import { IsOptional, MatchesFormat } from '../../../web';

export class LegalQuery {
  /** An earlier version; defaults to the one in force. */
  @IsOptional()
  @MatchesFormat(/^[\w.-]{1,40}$/, 'a version of the document, like 2027-01-31')
  version?: string;
}
