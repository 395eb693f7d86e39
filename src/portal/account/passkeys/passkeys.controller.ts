import type { ServerResponse } from 'node:http';
import { Controller, Req, Res } from '@nestjs/common';
import { AccountProof, deviceName, Passkeys, SignInService } from '../../../identity';
import { IsOptional, IsString, IsUUID, MaxLength, Settings } from '../../../platform';
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
import { IsLine, IsLineIfAny, IsNext } from '../fields';
import { FormAnswers } from '../form-answers';
import { SettingsModel } from '../settings-model';
import { SignInModel } from '../sign-in-model';
import { Visitor } from '../visitor';
import { IsCredential, passkeyCookie, PASSKEY_SECONDS } from './passkey-answers';
import { PasskeyDoor } from './passkey-door';

class SignInForm {
  @IsCredential()
  credential: string;

  @IsNext()
  next?: string;
}

class BeginForm {
  /** An empty one stands for the browser's and the system's name. */
  @IsLineIfAny(100)
  name?: string;

  /** It is empty while the person has none. */
  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}

class EnrolForm {
  @IsCredential()
  credential: string;

  @IsLine(100)
  name: string;
}

class RemoveForm {
  @IsUUID()
  passkey: string;

  @IsOptional()
  @IsString()
  @MaxLength(256)
  current_password?: string;
}

/** Serves the sign-in with a passkey, and the part of the settings that adds and removes them. */
@Controller()
export class PasskeysController {
  constructor(
    private readonly passkeys: Passkeys,
    private readonly door: PasskeyDoor,
    private readonly proof: AccountProof,
    private readonly signIn: SignInService,
    private readonly notices: AccountNotices,
    private readonly answers: FormAnswers,
    private readonly model: SettingsModel,
    private readonly signInModel: SignInModel,
    private readonly visitor: Visitor,
    private readonly addresses: ClientAddress,
    private readonly settings: Settings,
  ) {}

  /** The same for everybody: which account it is, the device says. */
  @Action('/auth/passkey/options', Access.anyone(), {
    audit: { none: 'nothing is changed before the device has answered' },
  })
  async options(@Res({ passthrough: true }) response: ServerResponse) {
    const { challenge, options } = await this.passkeys.beginSignIn();
    addCookie(response, this.settings, passkeyCookie, challenge, PASSKEY_SECONDS);
    return { options };
  }

  /** No code is asked for: a device that has verified its person is two factors. */
  @Action('/auth/passkey', Access.anyone(), { body: SignInForm, audit: 'session.signed-in' })
  enter(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const shown = {
      form: SignInForm,
      view: 'pages/account/login',
      model: ({ next }: Readonly<Record<string, string>>) => ({
        values: { next },
        ...this.signInModel.of(request, localPath(next, '')),
      }),
    };
    return this.answers.answer(request, response, shown, async ({ credential, next }) => {
      const userId = await this.door.recognise(request, response, credential);
      const signedIn = await this.signIn.openNow(userId, this.visitor.originOf(request));
      const to = this.visitor.startSession(response, signedIn, next);
      return { to, body: { ok: true, status: signedIn.status, next: to } };
    });
  }

  @Action('/dashboard/settings/passkeys/begin', Access.session(), {
    body: BeginForm,
    audit: { none: 'nothing is changed before the device has answered' },
  })
  async begin(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const again = await this.model.of(request);
    const shown = { form: BeginForm, view: this.model.view, model: () => again };
    return this.answers.answer(request, response, shown, async (form) => {
      const { userId, sessionId } = actorOf(request);
      const address = this.addresses.of(request);
      await this.proof.require(userId, { password: form.current_password ?? '', sessionId, address });
      const { challenge, options } = await this.passkeys.beginEnrolment(userId, sessionId);
      addCookie(response, this.settings, passkeyCookie, challenge, PASSKEY_SECONDS);
      const name = form.name ?? deviceName(request.headers['user-agent']) ?? 'Passkey';
      const model = { name, options: JSON.stringify(options) };
      return { body: { ok: true, name, options }, page: { view: 'pages/dashboard/passkey', model } };
    });
  }

  @Action('/dashboard/settings/passkeys', Access.session(), {
    body: EnrolForm,
    audit: 'account.passkey-added',
  })
  async enrol(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const again = await this.model.of(request);
    const shown = { form: EnrolForm, view: this.model.view, model: () => again };
    return this.answers.answer(request, response, shown, async ({ credential, name }) => {
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
    const again = await this.model.of(request);
    const shown = { form: RemoveForm, view: this.model.view, model: () => again };
    return this.answers.answer(request, response, shown, async (form) => {
      const { userId, sessionId } = actorOf(request);
      const address = this.addresses.of(request);
      await this.proof.require(userId, { password: form.current_password ?? '', sessionId, address });
      const name = await this.passkeys.remove(userId, form.passkey);
      await this.notices.notify(userId, 'passkey-removed', { passkey: name });
      return { to: '/dashboard/settings?saved=passkey-removed#passkeys-heading', body: { ok: true } };
    });
  }
}
