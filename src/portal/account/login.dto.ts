import { ValidateIf, IsEmailAddress, IsLine, IsNextPath, IsPassword, IsTicked } from '../../web';

export const isPasswordSignIn = ({ provider }: { readonly provider?: string }): boolean =>
  provider === undefined || provider === '';

export class LoginForm {
  @ValidateIf(isPasswordSignIn)
  @IsEmailAddress()
  email: string;

  @IsPassword()
  password: string;

  @IsNextPath()
  next?: string;

  /** Directory of an extension; absent for a sign-in with email and password. */
  @IsLine(100, { optional: true })
  provider?: string;

  @IsLine(254, { optional: true })
  user_name?: string;

  /** Required at the first sign-in, which creates the account. */
  @IsTicked()
  terms?: unknown;
}

export class LoginQuery {
  @IsNextPath()
  next?: string;

  @IsLine(40, { optional: true })
  notice?: string;

  @IsLine(100, { optional: true })
  with?: string;
}
