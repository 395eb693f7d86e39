import { type ExecutionContext, Injectable } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import type { ProvenIdentity } from '../../identity';
import { fault } from '../../kernel';
import { FormPipe, localPath, PortalBody, requestOf } from '../../web';
import { LoginForm } from './login.dto';

/** The account of a password, or the identity that a directory has proven. */
export type AuthenticatedUser = { readonly userId: number } | { readonly identity: ProvenIdentity };

declare module '../../web/http-request' {
  interface HttpRequest {
    /** Set by LocalAuthGuard. */
    user?: AuthenticatedUser;
  }
}

/** Authenticates the sign-in form, with the password of the account or with a directory. */
@Injectable()
export class LocalAuthGuard extends AuthGuard(['directory', 'local']) {
  private readonly pipe = new FormPipe();

  constructor(private readonly bodies: PortalBody) {
    super();
  }

  /** Reads and validates the form first, because guards run before interceptors and pipes. */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    await this.bodies.read(context);
    request.formPage ??= loginPageFor(request.body as Record<string, unknown>);
    request.body = await this.pipe.transform(request.body, { type: 'body', metatype: LoginForm });
    return super.canActivate(context) as Promise<boolean>;
  }

  override handleRequest<User>(error: Error | null, user: User | false): User {
    if (error !== null) throw error;
    if (user === false) throw fault('invalid_credentials', { param: 'password' });
    return user;
  }
}

/** Page of the form, for clients that do not name it. */
function loginPageFor({ next, provider }: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams();
  if (typeof next === 'string') query.set('next', localPath(next, ''));
  if (typeof provider === 'string') query.set('with', provider);
  return query.size === 0 ? '/login' : `/login?${query.toString()}`;
}
