import type { ServerResponse } from 'node:http';
import { Controller, Req, Res } from '@nestjs/common';
import { Payments } from '../../billing';
import { type InviteDetails, InvitesService, SessionsService } from '../../identity';
import { fault, nanoPerCent } from '../../kernel';
import { Access, Action, actorOf, type HttpRequest, Page, PathToken, portalHostOf } from '../../web';
import { FormResponder } from './form-responder';
import { VisitorSession } from './visitor-session';

interface InviteModel {
  readonly token: string;
  readonly invite: InviteDetails;
  /** Email address of the signed-in user; null without a session. */
  readonly viewer: string | null;
  readonly state: InviteDetails['state'] | 'other';
}

/** Older payments are on the statements. */
const MAX_RECEIPTS = 100;

/** Pages for users with an archived or suspended account, and for invited users. */
@Controller()
export class AccountStatusController {
  constructor(
    private readonly invites: InvitesService,
    private readonly sessions: SessionsService,
    private readonly payments: Payments,
    private readonly visitor: VisitorSession,
    private readonly forms: FormResponder,
  ) {}

  @Page('/account/archived', 'pages/account/standing', Access.restingSession())
  archived(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    return this.statusPage('archived', request, response);
  }

  @Page('/account/suspended', 'pages/account/standing', Access.restingSession())
  suspended(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    return this.statusPage('suspended', request, response);
  }

  @Page('/invite/:token', 'pages/account/invite', Access.anyone())
  async invite(
    @PathToken('token') token: string,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    const model = await this.inviteModel(token, request);
    if (model === null) throw fault('not_found');
    const isWaiting = model.state === 'pending' && model.viewer === null;
    this.visitor.rememberInvite(response, isWaiting ? token : null);
    return model;
  }

  /** Requires the account the invite was sent to; that account's address is already verified. */
  @Action('/invite/:token/accept', Access.session(), { audit: 'invite.accepted' })
  async accept(
    @PathToken('token') token: string,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    const model = (await this.inviteModel(token, request)) ?? { token, state: 'expired' };
    const formView = { view: 'pages/account/invite', model: () => model };
    return this.forms.respond(request, response, formView, async () => {
      if (request.actor === undefined) throw fault('authentication_required');
      const newSession = await this.invites.accept(token, request.actor);
      if (newSession !== null) this.visitor.renewSession(response, newSession);
      return { to: '/dashboard', body: { ok: true } };
    });
  }

  /** Shows an active account as such, and redirects an account in the other state to its own page. */
  private async statusPage(status: string, request: HttpRequest, response: ServerResponse) {
    const { restingAs } = request;
    if (restingAs === undefined) return { status: 'active' };
    if (restingAs !== status) {
      response.statusCode = 303;
      response.setHeader('location', `/account/${restingAs}`);
      return { status };
    }
    const { rows } = await this.payments.page(actorOf(request).userId, { limit: MAX_RECEIPTS });
    const receipts = rows
      .filter(({ state }) => state === 'paid')
      .map(({ publicId, paidAt, createdAt, grossCents }) => ({
        href: `/dashboard/billing/receipts/${publicId}`,
        at: paidAt ?? createdAt,
        amount: grossCents * nanoPerCent,
      }));
    const day = new Date().toISOString().slice(0, 10);
    return { status, receipts, span: { from: `${day.slice(0, 4)}-01-01`, to: day } };
  }

  private async inviteModel(token: string, request: HttpRequest): Promise<InviteModel | null> {
    const viewer = await this.findViewer(request);
    const invite = await this.invites.find(token, viewer);
    if (invite === null) return null;
    const { state, isForAnother } = invite;
    return { token, invite, viewer, state: state === 'pending' && isForAnother ? 'other' : state };
  }

  private async findViewer(request: HttpRequest): Promise<string | null> {
    const session = this.visitor.sessionOf(request);
    const sessionState = session === null ? null : await this.sessions.read(session, portalHostOf(request));
    return sessionState?.kind === 'actor' ? sessionState.actor.email : null;
  }
}
