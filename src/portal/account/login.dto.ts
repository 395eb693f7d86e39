import { ValidateIf } from '../../platform';
import { IsLineOrBlank, IsMailAddress, IsNextPath, IsPassword, IsTicked } from './fields';

export const isPasswordSignIn = ({ provider }: Pick<LoginForm, 'provider'>): boolean =>
  provider === undefined || provider === '';

export class LoginForm {
  @ValidateIf(isPasswordSignIn)
  @IsMailAddress()
  email: string;

  @IsPassword()
  password: string;

  @IsNextPath()
  next?: string;

  /** Directory of an extension; absent for a sign-in with email and password. */
  @IsLineOrBlank(100)
  provider?: string;

  @IsLineOrBlank(254)
  user_name?: string;

  /** Required at the first sign-in, which creates the account. */
  @IsTicked()
  terms?: unknown;
}

export class LoginQuery {
  @IsNextPath()
  next?: string;

  @IsLineOrBlank(40)
  notice?: string;

  @IsLineOrBlank(100)
  with?: string;
}
