import { IsOptional, IsEmailAddress, IsLine, IsPassword, IsToken } from '../../web';

export class ForgotForm {
  @IsEmailAddress()
  email: string;
}

export class ForgotQuery {
  @IsLine(20, { optional: true })
  sent?: string;
}

export class ResetForm {
  @IsToken()
  token: string;

  @IsPassword()
  password: string;
}

export class ResetQuery {
  @IsOptional()
  @IsToken()
  token?: string;
}
