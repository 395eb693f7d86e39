import type { ServerResponse } from 'node:http';
import { Controller, Req, Res } from '@nestjs/common';
import { encode } from 'uqr';
import { AccountProof, OwnAccountService, Passkeys, SecondFactors } from '../../identity';
import { IsOptional, IsString, MaxLength, Settings } from '../../platform';
import {
  Access,
  Action,
  actorOf,
  addCookie,
  ClientAddress,
  type HttpRequest,
  Page,
  portalHostOf,
} from '../../web';
import { AccountNotices } from './account-notices';
import { Entrance } from './entrance';
import { IsLine, IsTicked } from './fields';
import { FormAnswers } from './form-answers';
import { IsCredential, passkeyCookie, PASSKEY_SECONDS } from './passkeys/passkey-answers';
import { PasskeyDoor } from './passkeys/passkey-door';
import { trustedCookie } from './visitor';

class CodeForm {
  @IsLine(20)
  code: string;
}

class ChallengeForm extends CodeForm {
  /** This browser is not asked again for thirty days. */
  @IsTicked()
  remember?: unknown;
}

class PasskeyForm {
  @IsCredential()
  credential: string;
}

class SwitchForm extends CodeForm {
  /** It is empty while the person has none. */
  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}

const TRUSTED_SECONDS = 30 * 86_400;
const view = 'pages/dashboard/second-factor';

/** The second step of a sign-in with a password or a provider, and the page on which it is switched on and off. */
@Controller()
export class SecondFactorController {
  constructor(
    private readonly accounts: OwnAccountService,
    private readonly factors: SecondFactors,
    private readonly passkeys: Passkeys,
    private readonly door: PasskeyDoor,
    private readonly proof: AccountProof,
    private readonly entrance: Entrance,
    private readonly notices: AccountNotices,
    private readonly answers: FormAnswers,
    private readonly addresses: ClientAddress,
    private readonly settings: Settings,
  ) {}

  @Page('/login/second-factor', 'pages/account/second-factor', Access.anyone())
  async challengePage(@Req() request: HttpRequest) {
    return this.challengeModel(request);
  }

  /** The token of the step before is used up by the right code alone. */
  @Action('/auth/second-factor', Access.anyone(), { body: ChallengeForm, audit: 'session.signed-in' })
  async enter(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const again = await this.challengeModel(request);
    const shown = { form: ChallengeForm, view: 'pages/account/second-factor', model: () => again };
    return this.answers.answer(request, response, shown, async ({ code, remember }) => {
      const { userId } = await this.entrance.begun(request);
      await this.factors.check(userId, code, this.addresses.of(request));
      const done = await this.entrance.pass(request, response);
      if (remember !== undefined) {
        const trusted = await this.factors.trust(userId, portalHostOf(request));
        addCookie(response, this.settings, trustedCookie, trusted, TRUSTED_SECONDS);
      }
      return done;
    });
  }

  @Action('/auth/second-factor/passkey/options', Access.anyone(), {
    audit: { none: 'nothing is changed before the device has answered' },
  })
  async passkeyOptions(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const { userId } = await this.entrance.begun(request);
    const { challenge, options } = await this.passkeys.beginSignIn(userId);
    addCookie(response, this.settings, passkeyCookie, challenge, PASSKEY_SECONDS);
    return { options };
  }

  /** A passkey of the person in place of a code. */
  @Action('/auth/second-factor/passkey', Access.anyone(), { body: PasskeyForm, audit: 'session.signed-in' })
  async enterByPasskey(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const again = await this.challengeModel(request);
    const shown = { form: PasskeyForm, view: 'pages/account/second-factor', model: () => again };
    return this.answers.answer(request, response, shown, async ({ credential }) => {
      const { userId } = await this.entrance.begun(request);
      await this.door.recognise(request, response, credential, userId);
      return this.entrance.pass(request, response);
    });
  }

  @Page('/dashboard/settings/second-factor', view, Access.session())
  async show(@Req() request: HttpRequest) {
    return this.model(request);
  }

  @Action('/dashboard/settings/second-factor/enable', Access.session(), {
    body: SwitchForm,
    audit: 'account.two-factor-enabled',
  })
  async enable(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const again = await this.model(request);
    const shown = { form: SwitchForm, view, model: () => again };
    return this.answers.answer(request, response, shown, async (form) => {
      const { userId, address } = await this.proven(request, form);
      const codes = await this.factors.enable(userId, form.code, address);
      await this.notices.notify(userId, 'second-factor-on');
      return { page: { view, model: { codes } }, body: { ok: true, recovery_codes: codes } };
    });
  }

  @Action('/dashboard/settings/second-factor/disable', Access.session(), {
    body: SwitchForm,
    audit: 'account.two-factor-disabled',
  })
  async disable(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const again = await this.model(request);
    const shown = { form: SwitchForm, view, model: () => again };
    return this.answers.answer(request, response, shown, async (form) => {
      const { userId, address } = await this.proven(request, form);
      await this.factors.disable(userId, form.code, address);
      await this.notices.notify(userId, 'second-factor-off');
      return { to: '/dashboard/settings?saved=second-factor', body: { ok: true } };
    });
  }

  private async proven(
    request: HttpRequest,
    { current_password: password = '' }: SwitchForm,
  ): Promise<{ userId: number; address: string }> {
    const { userId, sessionId } = actorOf(request);
    const address = this.addresses.of(request);
    await this.proof.require(userId, { password, sessionId, address });
    return { userId, address };
  }

  private async challengeModel(request: HttpRequest) {
    const begun = await this.entrance.begun(request).catch(() => null);
    if (begun === null || !this.door.isOffered(request)) return {};
    return { offersPasskeys: (await this.passkeys.list(begun.userId)).length > 0 };
  }

  private async model(request: HttpRequest) {
    const { userId } = actorOf(request);
    const hasPassword = (await this.accounts.passwordState(userId)) === 'set';
    const setup = await this.factors.setup(userId);
    if (setup === null) return { isOn: true, hasPassword };
    const { data, size } = encode(setup.uri, { border: 2 });
    return {
      hasPassword,
      secret: setup.secret.replaceAll(/(.{4})(?=.)/g, '$1 '),
      picture: { size, path: pathOf(data) },
    };
  }
}

/** Runs of dark cells are drawn each as one rectangle of a path. */
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
