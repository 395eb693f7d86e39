import { IsOptional, IsString, MaxLength, IsLine, IsPasskeyCredential, IsTicked } from '../../web';

class CodeForm {
  @IsLine(20)
  code: string;
}

export class ChallengeForm extends CodeForm {
  /** Trusts this browser for 30 days. */
  @IsTicked()
  remember?: unknown;
}

export class PasskeyForm {
  @IsPasskeyCredential()
  credential: string;
}

export class SwitchForm extends CodeForm {
  /** Empty if the user has no password. */
  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}
