import type { ServerResponse } from 'node:http';
import { Controller, Param, Req, Res } from '@nestjs/common';
import { InvitesService, SessionsService } from '../../identity';
import { fault } from '../../kernel';
import { Access, Action, type HttpRequest, Page } from '../../web';
import { IsToken } from './fields';
import { FormAnswers } from './form-answers';
import { Visitor } from './visitor';

class InvitePath {
  @IsToken()
  token: string;
}

/** What people see whose account rests, and people who were invited. */
@Controller()
export class StandingController {
  constructor(
    private readonly invites: InvitesService,
    private readonly sessions: SessionsService,
    private readonly visitor: Visitor,
    private readonly answers: FormAnswers,
  ) {}

  @Page('/account/archived', 'pages/account/standing', Access.restingSession())
  archived(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse): object {
    return notice('archived', request, response);
  }

  @Page('/account/suspended', 'pages/account/standing', Access.restingSession())
  suspended(@Req() request: HttpRequest, @Res({ passthrough: true }) response: ServerResponse): object {
    return notice('suspended', request, response);
  }

  @Page('/invite/:token', 'pages/account/invite', Access.anyone())
  async invite(@Param() { token }: InvitePath, @Req() request: HttpRequest): Promise<object> {
    const invite = await this.invites.find(token);
    if (invite === null) throw fault('not_found');
    const viewer = await this.viewerOf(request);
    const isOther = viewer !== null && viewer.toLowerCase() !== invite.email.toLowerCase();
    return { token, invite, viewer, state: invite.state === 'pending' && isOther ? 'other' : invite.state };
  }

  /** Accepting needs the account the invite was sent to; the address was confirmed with it. */
  @Action('/invite/:token/accept', Access.session(), { audit: 'invite.accepted' })
  accept(
    @Param() { token }: InvitePath,
    @Req() request: HttpRequest,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<unknown> {
    const shown = {
      view: 'pages/account/invite',
      model: () => ({ token, state: 'expired' }),
    };
    return this.answers.answer(request, response, shown, async () => {
      if (request.actor === undefined) throw fault('authentication_required');
      await this.invites.accept(token, request.actor);
      return { to: '/dashboard', body: { ok: true } };
    });
  }

  private async viewerOf(request: HttpRequest): Promise<string | null> {
    const session = this.visitor.sessionOf(request);
    const reading = session === null ? null : await this.sessions.read(session);
    return reading?.kind === 'actor' ? reading.actor.email : null;
  }
}

/** Who does not rest as the page says is led to where they belong. */
function notice(status: string, { restingAs }: HttpRequest, response: ServerResponse): object {
  if (restingAs !== status) {
    response.statusCode = 303;
    response.setHeader('location', restingAs === undefined ? '/dashboard' : `/account/${restingAs}`);
  }
  return { status };
}
