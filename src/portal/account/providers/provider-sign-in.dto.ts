import { IsIn, IsOptional, IsString, MaxLength, IsNextPath, IsTicked, MatchesFormat } from '../../../web';
import type { ProviderSlot } from './provider-states';

export class ProviderStartQuery {
  @IsNextPath()
  next?: string;

  /** Legacy way to link a provider; redirects to the settings. */
  @IsOptional()
  @IsIn(['link'])
  purpose?: 'link';

  @IsOptional()
  @IsString()
  @MaxLength(300)
  portal?: string;

  @IsOptional()
  @MatchesFormat(/^[\w-]{43}$/, '43 characters of base64url')
  binding?: string;

  /** Acceptance of the terms, signed by the portal where the sign-in started. */
  @IsOptional()
  @IsString()
  @MaxLength(200)
  terms?: string;
}

export class TermsForm {
  @IsTicked()
  terms?: unknown;

  @IsOptional()
  @IsIn(['idp1', 'idp2'])
  provider?: ProviderSlot;

  @IsNextPath()
  next?: string;
}
