import type { ServerResponse } from 'node:http';
import { Controller, Req, Res } from '@nestjs/common';
import { AccountProof, deviceName, Passkeys, SignInService } from '../../../identity';
import { Settings } from '../../../platform';
import {
  Access,
  Action,
  actorOf,
  addCookie,
  ClientAddress,
  cookieOf,
  type HttpRequest,
  localPath,
} from '../../../web';
import { AccountNotices } from '../account-notices';
import { FormResponder } from '../form-responder';
import { SettingsModel } from '../settings-model';
import { SignInModel } from '../sign-in-model';
import { VisitorSession } from '../visitor-session';
import { passkeyCookie, PASSKEY_SECONDS } from './passkey-credential';
import { PasskeySignIn } from './passkey-sign-in';
import { SignInForm, BeginForm, EnrolForm, RemoveForm } from './passkeys.dto';

@Controller()
export class PasskeysController {
  constructor(
    private readonly passkeys: Passkeys,
    private readonly passkeySignIn: PasskeySignIn,
    private readonly proof: AccountProof,
    private readonly signIn: SignInService,
    private readonly notices: AccountNotices,
    private readonly forms: FormResponder,
    private readonly model: SettingsModel,
    private readonly signInModel: SignInModel,
    private readonly visitor: VisitorSession,
    private readonly addresses: ClientAddress,
    private readonly settings: Settings,
  ) {}

  /** Returns the same options for everyone, as the authenticator names the account. */
  @Action('/auth/passkey/options', Access.anyone(), {
    audit: { none: 'nothing is changed before the device has answered' },
  })
  async options(@Res({ passthrough: true }) response: ServerResponse) {
    const { challenge, options } = await this.passkeys.startSignIn();
    addCookie(response, this.settings, passkeyCookie, challenge, PASSKEY_SECONDS);
    return { options };
  }

  /** Requires no code: a passkey with user verification counts as two factors. */
  @Action('/auth/passkey', Access.anyone(), { body: SignInForm, audit: 'session.signed-in' })
  enter(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const formView = {
      form: SignInForm,
      view: 'pages/account/login',
      model: ({ next }: Readonly<Record<string, string>>) => ({
        values: { next },
        ...this.signInModel.build(request, localPath(next, '')),
      }),
    };
    return this.forms.respond(request, response, formView, async ({ credential, next }) => {
      const userId = await this.passkeySignIn.authenticate(request, response, credential);
      const signedIn = await this.signIn.openInTransaction(userId, this.visitor.originOf(request));
      const to = this.visitor.startSession(response, signedIn, next);
      return { to, body: { ok: true, status: signedIn.status, next: to } };
    });
  }

  @Action('/dashboard/settings/passkeys/begin', Access.session(), {
    body: BeginForm,
    audit: { none: 'nothing is changed before the device has answered' },
  })
  async begin(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const model = await this.model.build(request);
    const formView = { form: BeginForm, view: this.model.view, model: () => model };
    return this.forms.respond(request, response, formView, async (form) => {
      const { userId, sessionId } = actorOf(request);
      const address = this.addresses.of(request);
      await this.proof.require(userId, { password: form.current_password ?? '', sessionId, address });
      const { challenge, options } = await this.passkeys.startEnrolment(userId, sessionId);
      addCookie(response, this.settings, passkeyCookie, challenge, PASSKEY_SECONDS);
      const name = form.name ?? deviceName(request.headers['user-agent']) ?? 'Passkey';
      const passkeyModel = { name, options: JSON.stringify(options) };
      return {
        body: { ok: true, name, options },
        page: { view: 'pages/dashboard/passkey', model: passkeyModel },
      };
    });
  }

  @Action('/dashboard/settings/passkeys', Access.session(), {
    body: EnrolForm,
    audit: 'account.passkey-added',
  })
  async enrol(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const model = await this.model.build(request);
    const formView = { form: EnrolForm, view: this.model.view, model: () => model };
    return this.forms.respond(request, response, formView, async ({ credential, name }) => {
      const { userId, sessionId } = actorOf(request);
      const challenge = cookieOf(request.headers, passkeyCookie) ?? '';
      addCookie(response, this.settings, passkeyCookie, '', 0);
      const { publicId } = await this.passkeys.enrol(userId, sessionId, { challenge, credential, name });
      await this.notices.notify(userId, 'passkey-added', { passkey: name });
      return {
        to: '/dashboard/settings?saved=passkey-added#passkeys-heading',
        body: { ok: true, passkey: publicId, name },
      };
    });
  }

  @Action('/dashboard/settings/passkeys/remove', Access.session(), {
    body: RemoveForm,
    audit: 'account.passkey-removed',
  })
  async remove(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const model = await this.model.build(request);
    const formView = { form: RemoveForm, view: this.model.view, model: () => model };
    return this.forms.respond(request, response, formView, async (form) => {
      const { userId, sessionId } = actorOf(request);
      const address = this.addresses.of(request);
      await this.proof.require(userId, { password: form.current_password ?? '', sessionId, address });
      const name = await this.passkeys.remove(userId, form.passkey);
      await this.notices.notify(userId, 'passkey-removed', { passkey: name });
      return { to: '/dashboard/settings?saved=passkey-removed#passkeys-heading', body: { ok: true } };
    });
  }
}
