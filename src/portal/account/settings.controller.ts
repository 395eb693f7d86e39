import type { ServerResponse } from 'node:http';
import { Controller, Query, Req, Res } from '@nestjs/common';
import { AccountProof, OwnAccountService, UserErasure } from '../../identity';
import { fault } from '../../kernel';
import {
  Access,
  Action,
  actorOf,
  addCookie,
  ClientAddress,
  type HttpRequest,
  languageCookie,
  okWith,
  Page,
} from '../../web';
import { Settings } from '../../platform';
import { AccountNotices } from './account-notices';
import { AccountMails } from './account-mails';
import { type FormResult, FormResponder, type FormView } from './form-responder';
import { SettingsModel } from './settings-model';
import { VisitorSession } from './visitor-session';
import {
  ProfileForm,
  NameForm,
  PasswordForm,
  SessionForm,
  DeletionForm,
  SettingsQuery,
} from './settings.dto';

const view = 'pages/dashboard/settings';
const YEAR_SECONDS = 365 * 86_400;

@Controller('/dashboard/settings')
export class SettingsController {
  constructor(
    private readonly accounts: OwnAccountService,
    private readonly forms: FormResponder,
    private readonly notices: AccountNotices,
    private readonly model: SettingsModel,
    private readonly addresses: ClientAddress,
    private readonly settings: Settings,
    private readonly proof: AccountProof,
    private readonly erasure: UserErasure,
    private readonly mails: AccountMails,
    private readonly visitor: VisitorSession,
  ) {}

  @Page('/', view, Access.session())
  async show(@Req() request: HttpRequest, @Query() { saved }: SettingsQuery) {
    return { ...(await this.model.build(request)), saved };
  }

  @Action('/', Access.session(), { body: ProfileForm, audit: 'account.settings-changed' })
  save(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    return this.change(request, response, ProfileForm, 'profile', async (form) => {
      const { display_name, preferred_language, time_zone } = form;
      await this.accounts.changeProfile(actorOf(request).userId, {
        ...(display_name !== undefined && { displayName: display_name }),
        ...(preferred_language !== undefined && { preferredLanguage: preferred_language }),
        ...(time_zone !== undefined && { timeZone: time_zone }),
      });
      if (preferred_language !== undefined) {
        addCookie(response, this.settings, languageCookie, preferred_language, YEAR_SECONDS);
      }
      return { ok: true, ...form };
    });
  }

  @Action('display-name', Access.session(), {
    body: NameForm,
    audit: 'account.settings-changed',
    responds: { content: { 'application/json': okWith({ display_name: { type: 'string' } }) } },
  })
  rename(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    return this.change(request, response, NameForm, 'profile', async ({ display_name }) => {
      await this.accounts.changeProfile(actorOf(request).userId, { displayName: display_name });
      return { ok: true, display_name };
    });
  }

  @Action('password', Access.session(), { body: PasswordForm, audit: 'account.password-changed' })
  password(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    return this.change(
      request,
      response,
      PasswordForm,
      'password',
      async ({ current_password = '', password }) => {
        const { userId, sessionId } = actorOf(request);
        const address = this.addresses.of(request);
        await this.accounts.changePassword(userId, {
          current: current_password,
          next: password,
          sessionId,
          address,
        });
        await this.notices.notify(userId, 'password-changed');
        return { ok: true };
      },
    );
  }

  /** Ends the named session, or all other sessions if none is named. */
  @Action('sessions/end', Access.session(), { body: SessionForm, audit: 'session.ended' })
  endSessions(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    return this.change(request, response, SessionForm, 'sessions', async ({ session }) => {
      const { userId, sessionId } = actorOf(request);
      await this.accounts.endSessions(
        userId,
        session === undefined ? { allBut: sessionId } : { publicId: session },
      );
      return { ok: true };
    });
  }

  /**
   * Deletes the account permanently. A rejection names what prevents it: money, keys, or users whose usage it pays for.
   */
  @Action('delete', Access.session(), { body: DeletionForm, audit: 'user.deleted' })
  async deleteAccount(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    const model = await this.model.build(request);
    const formView: FormView<DeletionForm> = {
      form: DeletionForm,
      view,
      model: () => model,
    };
    return this.forms.respond(request, response, formView, async (form) => {
      const { userId, sessionId } = actorOf(request);
      const { email, displayName: name, preferredLanguage: language } = await this.accounts.find(userId);
      if (form.confirmation.toLowerCase() !== email.toLowerCase()) {
        throw fault('conflict', {
          param: 'confirmation',
          message: `Type ${email} to confirm.`,
          details: { reason: 'confirmation' },
        });
      }
      const address = this.addresses.of(request);
      await this.proof.require(userId, { password: form.current_password ?? '', sessionId, address });
      await this.erasure.eraseOwn(userId);
      await this.mails.send({ notice: 'account-deleted', to: email, language, values: { name } });
      this.visitor.endSession(response);
      return { to: '/login?notice=deleted', body: { ok: true } };
    });
  }

  private async change<Form extends object>(
    request: HttpRequest,
    response: ServerResponse,
    form: new () => Form,
    saved: string,
    work: (form: Form) => Promise<object>,
  ) {
    const model = await this.model.build(request);
    const formView: FormView<Form> = {
      form,
      view,
      model: () => model,
    };
    const runWork = async (input: Form): Promise<FormResult> => ({
      body: await work(input),
      to: `/dashboard/settings?saved=${saved}`,
    });
    return this.forms.respond(request, response, formView, runWork);
  }
}
