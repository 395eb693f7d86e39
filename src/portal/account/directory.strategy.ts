import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import passport from 'passport';
import type { HttpRequest } from '../../web';
import { Directories } from './directories';
import type { AuthenticatedUser } from './local-auth.guard';
import { isPasswordSignIn, type LoginForm } from './login.dto';
import { VisitorSession } from './visitor-session';

/** Authenticates with a directory of an extension; fails if the form names none. */
@Injectable()
export class DirectoryStrategy extends PassportStrategy(passport.Strategy, 'directory') {
  constructor(
    private readonly directories: Directories,
    private readonly visitor: VisitorSession,
  ) {
    super();
  }

  override authenticate(request: Request & HttpRequest): void {
    const form = request.body as LoginForm;
    if (isPasswordSignIn(form)) return this.fail();
    this.validate(request, form).then(
      (user) => this.success(user),
      (error: unknown) => this.error(error),
    );
  }

  async validate(request: HttpRequest, form: LoginForm): Promise<AuthenticatedUser> {
    const { provider = '', user_name: name = '', password } = form;
    const { address } = this.visitor.originOf(request);
    return { identity: await this.directories.authenticate(provider, { name, password, address }) };
  }
}
