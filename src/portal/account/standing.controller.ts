import { Controller, Param, Query, Req } from '@nestjs/common';
import { IsOptional } from 'class-validator';
import type { ServerResponse } from 'node:http';
import { Res } from '@nestjs/common';
import { InvitesService, SessionsService } from '../../identity';
import { fault } from '../../kernel';
import { Access, Action, type HttpRequest, Page } from '../../web';
import { IsLine, IsToken } from './fields';
import { FormAnswers } from './form-answers';
import { Visitor } from './visitor';

class InvitePath {
  @IsToken()
  token: string;
}

class NoticeQuery {
  @IsOptional()
  @IsLine(20)
  notice?: string;
}

class NoFields {}

/** What people see whose account rests, and people who were invited. */
@Controller()
export class StandingController {
  constructor(
    private readonly invites: InvitesService,
    private readonly sessions: SessionsService,
    private readonly visitor: Visitor,
    private readonly answers: FormAnswers,
  ) {}

  @Page('/account/archived', 'pages/account/standing', Access.anyone())
  archived(@Query() _query: NoticeQuery): object {
    return { status: 'archived' };
  }

  @Page('/account/suspended', 'pages/account/standing', Access.anyone())
  suspended(@Query() _query: NoticeQuery): object {
    return { status: 'suspended' };
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
      form: NoFields,
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
