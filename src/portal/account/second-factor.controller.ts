import type { ServerResponse } from 'node:http';
import { Controller, Req, Res } from '@nestjs/common';
import { IsOptional, IsString, MaxLength } from 'class-validator';
import { encode } from 'uqr';
import { AccountProof, AccountTokens, SecondFactors, SignInService } from '../../identity';
import { fault } from '../../kernel';
import { Database, Settings } from '../../platform';
import {
  Access,
  Action,
  actorOf,
  addCookie,
  ClientAddress,
  cookieOf,
  type HttpRequest,
  Page,
} from '../../web';
import { AccountNotices } from './account-notices';
import { IsLine, IsTicked } from './fields';
import { FormAnswers } from './form-answers';
import { challengeCookie, trustedCookie, Visitor } from './visitor';

class CodeForm {
  @IsLine(20)
  code: string;
}

class ChallengeForm extends CodeForm {
  /** This browser is not asked again for thirty days. */
  @IsTicked()
  remember?: unknown;
}

class DisableForm extends CodeForm {
  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}

const TRUSTED_SECONDS = 30 * 86_400;
const view = 'pages/dashboard/second-factor';

/** The second step of a sign-in with a password, and the page on which it is switched on and off. */
@Controller()
export class SecondFactorController {
  constructor(
    private readonly factors: SecondFactors,
    private readonly proof: AccountProof,
    private readonly signIn: SignInService,
    private readonly tokens: AccountTokens,
    private readonly database: Database,
    private readonly notices: AccountNotices,
    private readonly answers: FormAnswers,
    private readonly visitor: Visitor,
    private readonly addresses: ClientAddress,
    private readonly settings: Settings,
  ) {}

  @Page('/login/second-factor', 'pages/account/second-factor', Access.anyone())
  challengePage(): object {
    return {};
  }

  /** The token of the password's step is used up by the right code alone. */
  @Action('/auth/second-factor', Access.anyone(), { audit: 'session.signed-in' })
  enter(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse): Promise<unknown> {
    const shown = { form: ChallengeForm, view: 'pages/account/second-factor' };
    return this.answers.answer(request, response, shown, async ({ code, remember }) => {
      const token = cookieOf(request.headers, challengeCookie) ?? '';
      const begun = await this.tokens.look(this.database.source.manager, 'second_factor', token);
      const userId = begun?.userId ?? null;
      if (userId === null) throw fault('invalid_token');
      await this.factors.check(userId, code, this.addresses.of(request));
      const signedIn = await this.database.transaction(async (tx) => {
        if ((await this.tokens.spend(tx, 'second_factor', token)) === null) throw fault('invalid_token');
        return this.signIn.open(tx, userId, this.visitor.originOf(request));
      });
      addCookie(response, this.settings, challengeCookie, '', 0);
      if (remember !== undefined) {
        const trusted = await this.factors.trust(userId);
        addCookie(response, this.settings, trustedCookie, trusted, TRUSTED_SECONDS);
      }
      const next = begun?.data['next'];
      const to = this.visitor.letIn(response, signedIn, typeof next === 'string' ? next : undefined);
      return { to, body: { ok: true, status: signedIn.status, next: to } };
    });
  }

  @Page('/dashboard/settings/second-factor', view, Access.session())
  async show(@Req() request: HttpRequest): Promise<object> {
    return this.model(request);
  }

  @Action('/dashboard/settings/second-factor/enable', Access.session(), {
    audit: 'account.two-factor-enabled',
  })
  async enable(
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<unknown> {
    const again = await this.model(request);
    const shown = { form: CodeForm, view, model: () => again };
    return this.answers.answer(request, response, shown, async ({ code }) => {
      const { userId } = actorOf(request);
      const codes = await this.factors.enable(userId, code, this.addresses.of(request));
      await this.notices.tell(userId, 'second-factor-on');
      return { page: { view, model: { codes } }, body: { ok: true, recovery_codes: codes } };
    });
  }

  @Action('/dashboard/settings/second-factor/disable', Access.session(), {
    audit: 'account.two-factor-disabled',
  })
  async disable(
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<unknown> {
    const again = await this.model(request);
    const shown = { form: DisableForm, view, model: () => again };
    return this.answers.answer(
      request,
      response,
      shown,
      async ({ code, current_password: password = '' }) => {
        const { userId, sessionId } = actorOf(request);
        const address = this.addresses.of(request);
        await this.proof.require(userId, { password, sessionId, address });
        await this.factors.disable(userId, code, address);
        await this.notices.tell(userId, 'second-factor-off');
        return { to: '/dashboard/settings?saved=second-factor', body: { ok: true } };
      },
    );
  }

  private async model(request: HttpRequest): Promise<object> {
    const setup = await this.factors.setup(actorOf(request).userId);
    if (setup === null) return { isOn: true };
    const { data, size } = encode(setup.uri, { border: 2 });
    return { secret: setup.secret.replaceAll(/(.{4})(?=.)/g, '$1 '), picture: { size, path: pathOf(data) } };
  }
}

/** Runs of dark cells, each as one rectangle of a path. */
function pathOf(cells: readonly (readonly boolean[])[]): string {
  return cells
    .flatMap((row, y) =>
      [
        ...row
          .map((dark) => (dark ? '1' : '0'))
          .join('')
          .matchAll(/1+/g),
      ].map(({ index, 0: run }) => `M${index} ${y}h${run.length}v1h-${run.length}z`),
    )
    .join('');
}
