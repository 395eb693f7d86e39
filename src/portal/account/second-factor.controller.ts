import type { ServerResponse } from 'node:http';
import { Controller, Req, Res } from '@nestjs/common';
import { encode } from 'uqr';
import { AccountProof, OwnAccountService, Passkeys, SecondFactors } from '../../identity';
import { Settings } from '../../platform';
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
import { SignInFlow } from './sign-in-flow';
import { FormResponder } from './form-responder';
import { passkeyCookie, PASSKEY_SECONDS } from './passkeys/passkey-credential';
import { PasskeySignIn } from './passkeys/passkey-sign-in';
import { trustedCookie } from './visitor-session';
import { ChallengeForm, PasskeyForm, SwitchForm } from './second-factor.dto';

const TRUSTED_SECONDS = 30 * 86_400;
const view = 'pages/dashboard/second-factor';

@Controller()
export class SecondFactorController {
  constructor(
    private readonly accounts: OwnAccountService,
    private readonly factors: SecondFactors,
    private readonly passkeys: Passkeys,
    private readonly passkeySignIn: PasskeySignIn,
    private readonly proof: AccountProof,
    private readonly signInFlow: SignInFlow,
    private readonly notices: AccountNotices,
    private readonly forms: FormResponder,
    private readonly addresses: ClientAddress,
    private readonly settings: Settings,
  ) {}

  @Page('/login/second-factor', 'pages/account/second-factor', Access.anyone())
  async challengePage(@Req() request: HttpRequest) {
    return this.challengeModel(request);
  }

  /** Only the right code spends the token of the previous step. */
  @Action('/auth/second-factor', Access.anyone(), { body: ChallengeForm, audit: 'session.signed-in' })
  async enter(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const model = await this.challengeModel(request);
    const formView = { form: ChallengeForm, view: 'pages/account/second-factor', model: () => model };
    return this.forms.respond(request, response, formView, async ({ code, remember }) => {
      const { userId } = await this.signInFlow.readPendingSignIn(request);
      await this.factors.check(userId, code, this.addresses.of(request));
      const result = await this.signInFlow.completeChallenge(request, response);
      if (remember !== undefined) {
        const trustToken = await this.factors.trust(userId, portalHostOf(request));
        addCookie(response, this.settings, trustedCookie, trustToken, TRUSTED_SECONDS);
      }
      return result;
    });
  }

  @Action('/auth/second-factor/passkey/options', Access.anyone(), {
    audit: { none: 'nothing is changed before the device has answered' },
  })
  async passkeyOptions(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const { userId } = await this.signInFlow.readPendingSignIn(request);
    const { challenge, options } = await this.passkeys.startSignIn(userId);
    addCookie(response, this.settings, passkeyCookie, challenge, PASSKEY_SECONDS);
    return { options };
  }

  /** A passkey of the user instead of a code. */
  @Action('/auth/second-factor/passkey', Access.anyone(), { body: PasskeyForm, audit: 'session.signed-in' })
  async enterByPasskey(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const model = await this.challengeModel(request);
    const formView = { form: PasskeyForm, view: 'pages/account/second-factor', model: () => model };
    return this.forms.respond(request, response, formView, async ({ credential }) => {
      const { userId } = await this.signInFlow.readPendingSignIn(request);
      await this.passkeySignIn.authenticate(request, response, credential, userId);
      return this.signInFlow.completeChallenge(request, response);
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
    const model = await this.model(request);
    const formView = { form: SwitchForm, view, model: () => model };
    return this.forms.respond(request, response, formView, async (form) => {
      const { userId, address } = await this.requireProof(request, form);
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
    const model = await this.model(request);
    const formView = { form: SwitchForm, view, model: () => model };
    return this.forms.respond(request, response, formView, async (form) => {
      const { userId, address } = await this.requireProof(request, form);
      await this.factors.disable(userId, form.code, address);
      await this.notices.notify(userId, 'second-factor-off');
      return { to: '/dashboard/settings?saved=second-factor', body: { ok: true } };
    });
  }

  private async requireProof(
    request: HttpRequest,
    { current_password: password = '' }: SwitchForm,
  ): Promise<{ userId: number; address: string }> {
    const { userId, sessionId } = actorOf(request);
    const address = this.addresses.of(request);
    await this.proof.require(userId, { password, sessionId, address });
    return { userId, address };
  }

  private async challengeModel(request: HttpRequest) {
    const pending = await this.signInFlow.readPendingSignIn(request).catch(() => null);
    if (pending === null || !this.passkeySignIn.isOffered(request)) return {};
    return { offersPasskeys: (await this.passkeys.list(pending.userId)).length > 0 };
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
      picture: { size, path: qrCodePath(data) },
    };
  }
}

/** Draws each run of dark cells as one rectangle of an SVG path. */
function qrCodePath(cells: readonly (readonly boolean[])[]): string {
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
