import { IsOptional, IsString, MaxLength, IsEmailAddress } from '../../web';

export class AddressForm {
  @IsEmailAddress()
  email: string;

  /** Empty if the user has no password. */
  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}
