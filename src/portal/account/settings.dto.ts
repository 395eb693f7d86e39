import { type Locale, locales } from '../../views';
import {
  IsIn,
  IsOptional,
  IsString,
  IsUUID,
  MaxLength,
  IfPresent,
  AllowsOtherProperties,
  IsLine,
  IsOneOf,
  IsPassword,
  IsZoneName,
} from '../../web';

export class ProfileForm {
  @IfPresent()
  @IsLine(100)
  display_name?: string;

  @IsOneOf(locales, { optional: true })
  preferred_language?: Locale;

  /** Accepts any alias of a time zone and stores its current name. */
  @IsZoneName({ optional: true })
  time_zone?: string;
}

/** The specification allows any additional JSON properties. */
@AllowsOtherProperties()
export class NameForm {
  @IsLine(100)
  display_name: string;
}

export class PasswordForm {
  /** Empty if the user has no password. */
  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;

  @IsPassword()
  password: string;
}

export class SessionForm {
  @IsOptional()
  @IsUUID()
  session?: string;
}

export class DeletionForm {
  /** The account's email address, typed as a confirmation. */
  @IsLine(254)
  confirmation: string;

  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}

export class SettingsQuery {
  @IsOptional()
  @IsIn([
    'profile',
    'password',
    'sessions',
    'providers',
    'provider-linked',
    'email',
    'second-factor',
    'passkey-added',
    'passkey-removed',
  ])
  saved?: string;
}
