import type { ServerResponse } from 'node:http';
import { Controller, Req, Res } from '@nestjs/common';
import { Payments } from '../../billing';
import { type InviteShown, InvitesService, SessionsService } from '../../identity';
import { fault, nanoPerCent } from '../../kernel';
import { Access, Action, actorOf, type HttpRequest, Page, PathToken, portalHostOf } from '../../web';
import { FormAnswers } from './form-answers';
import { Visitor } from './visitor';

interface InviteModel {
  readonly token: string;
  readonly invite: InviteShown;
  /** The address of who is signed in. */
  readonly viewer: string | null;
  readonly state: InviteShown['state'] | 'other';
}

/** A statement lists older payments. */
const RECEIPTS_SHOWN = 100;

/** People whose account rests see these pages, as do people who were invited. */
@Controller()
export class StandingController {
  constructor(
    private readonly invites: InvitesService,
    private readonly sessions: SessionsService,
    private readonly payments: Payments,
    private readonly visitor: Visitor,
    private readonly answers: FormAnswers,
  ) {}

  @Page('/account/archived', 'pages/account/standing', Access.restingSession())
  archived(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    return this.standing('archived', request, response);
  }

  @Page('/account/suspended', 'pages/account/standing', Access.restingSession())
  suspended(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse) {
    return this.standing('suspended', request, response);
  }

  @Page('/invite/:token', 'pages/account/invite', Access.anyone())
  async invite(
    @PathToken('token') token: string,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    const model = await this.inviteModel(token, request);
    if (model === null) throw fault('not_found');
    const waits = model.state === 'pending' && model.viewer === null;
    this.visitor.keepInvite(response, waits ? token : null);
    return model;
  }

  /** Accepting needs the account the invite was sent to; the address was confirmed with it. */
  @Action('/invite/:token/accept', Access.session(), { audit: 'invite.accepted' })
  async accept(
    @PathToken('token') token: string,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ) {
    const again = (await this.inviteModel(token, request)) ?? { token, state: 'expired' };
    const shown = { view: 'pages/account/invite', model: () => again };
    return this.answers.answer(request, response, shown, async () => {
      if (request.actor === undefined) throw fault('authentication_required');
      const renewed = await this.invites.accept(token, request.actor);
      if (renewed !== null) this.visitor.renewSession(response, renewed);
      return { to: '/dashboard', body: { ok: true } };
    });
  }

  /** A person whose account works is told so; one whose account rests otherwise is led to the notice of it. */
  private async standing(status: string, request: HttpRequest, response: ServerResponse) {
    const { restingAs } = request;
    if (restingAs === undefined) return { status: 'active' };
    if (restingAs !== status) {
      response.statusCode = 303;
      response.setHeader('location', `/account/${restingAs}`);
      return { status };
    }
    const { rows } = await this.payments.page(actorOf(request).userId, { limit: RECEIPTS_SHOWN });
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
    const viewer = await this.viewerOf(request);
    const invite = await this.invites.find(token, viewer);
    if (invite === null) return null;
    const { state, isForAnother } = invite;
    return { token, invite, viewer, state: state === 'pending' && isForAnother ? 'other' : state };
  }

  private async viewerOf(request: HttpRequest): Promise<string | null> {
    const session = this.visitor.sessionOf(request);
    const reading = session === null ? null : await this.sessions.read(session, portalHostOf(request));
    return reading?.kind === 'actor' ? reading.actor.email : null;
  }
}
