import { IsIn, IsOptional, IsString, MaxLength, IsLine, IsPassword } from '../../../web';
import type { ProviderSlot } from './provider-states';

export class ProviderLinkForm {
  @IsIn(['idp1', 'idp2'])
  provider: ProviderSlot;

  /** Empty if the user has no password. */
  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}

export class DirectoryLinkForm {
  @IsLine(100)
  provider: string;

  @IsLine(254)
  user_name: string;

  @IsPassword()
  password: string;

  /** Empty if the user has no password. */
  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}

export class UnlinkForm {
  @IsLine(500)
  issuer: string;
}
