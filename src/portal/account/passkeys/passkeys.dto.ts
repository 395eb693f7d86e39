import {
  IsOptional,
  IsString,
  IsUUID,
  MaxLength,
  IsLine,
  IsNextPath,
  IsPasskeyCredential,
} from '../../../web';

export class SignInForm {
  @IsPasskeyCredential()
  credential: string;

  @IsNextPath()
  next?: string;
}

export class BeginForm {
  /** Defaults to the name of the browser and the operating system. */
  @IsLine(100, { optional: true })
  name?: string;

  /** Empty if the user has no password. */
  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}

export class EnrolForm {
  @IsPasskeyCredential()
  credential: string;

  @IsLine(100)
  name: string;
}

export class RemoveForm {
  @IsUUID()
  passkey: string;

  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}
