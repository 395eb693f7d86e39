import { IsOptional, IsEmailAddress, IsLine, IsNextPath, IsPassword, IsTicked, IsToken } from '../../web';

export class RegisterForm {
  @IsEmailAddress()
  email: string;

  @IsPassword()
  password: string;

  @IsLine(100, { optional: true })
  display_name?: string;

  @IsTicked()
  terms?: unknown;
}

export class SignUpQuery {
  @IsLine(20, { optional: true })
  notice?: string;

  @IsOptional()
  @IsEmailAddress()
  email?: string;

  @IsNextPath()
  next?: string;
}

export class VerifyForm {
  @IsToken()
  token: string;
}

export class VerifyQuery {
  @IsOptional()
  @IsToken()
  token?: string;

  @IsLine(20, { optional: true })
  sent?: string;
}

export class ResendForm {
  @IsEmailAddress()
  email: string;
}
