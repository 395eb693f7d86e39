import { Body, Controller, Param, Query, Req } from '@nestjs/common';
import { AdminViewService, Departments, InviteDesk, userActs } from '../../identity';
import { mayGrant } from '../../kernel';
import {
  Access,
  Action,
  actorOf,
  adminScope,
  done,
  type Done,
  type HttpRequest,
  IsFilterText,
  localisationOf,
  Page,
  PageRenderer,
  scopeWords,
} from '../../web';
import { missingField } from '../pages/fields';
import type { ObjectPageModel } from '../pages/object-page';
import { InviteForm, InviteListQuery, InviteParams, invitableRoles } from './invite-forms';
import { type InviteMail, InviteMails } from './invite-mails';
import { inviteListPage, invitePage } from './invite-pages';

class InvitePageQuery {
  /** The address that the page fills in, so that it is not typed twice. */
  @IsFilterText()
  email?: string;
}

const form = '/dashboard/admin/users/invite';
const ROWS_A_PAGE = 50;
const list = '/dashboard/admin/users/invites';
const access = () => Access.role(userActs.invite.minimum);

@Controller()
export class InvitesController {
  constructor(
    private readonly desk: InviteDesk,
    private readonly mails: InviteMails,
    private readonly names: AdminViewService,
    private readonly departments: Departments,
    private readonly pages: PageRenderer,
  ) {}

  @Page(list, 'pages/admin/object', access())
  async list(@Query() { cursor }: InviteListQuery, @Req() request: HttpRequest): Promise<ObjectPageModel> {
    const scope = adminScope(request);
    const { translate } = localisationOf(this.pages, request);
    const page = await this.desk.page(scope, { cursor: cursor ?? null, limit: ROWS_A_PAGE });
    return inviteListPage(request, page, scopeWords(request, translate, scope), translate);
  }

  @Page(form, 'pages/admin/object', access())
  async show(@Query() query: InvitePageQuery, @Req() request: HttpRequest): Promise<ObjectPageModel> {
    const scope = adminScope(request);
    const { role } = actorOf(request);
    const { translate, locale } = localisationOf(this.pages, request);
    const [organisations, departments] = await Promise.all([
      scope.kind === 'platform' ? this.names.organisationsToChoose() : [],
      this.departments.list(scope),
    ]);
    const roles = invitableRoles.filter((wanted) => mayGrant(role, wanted));
    const words = scopeWords(request, translate, scope);
    return invitePage(
      { organisations, departments, roles, words, email: query.email ?? '', locale },
      translate,
    );
  }

  @Action(form, access(), { audit: 'invite.created' })
  async create(
    @Body() { email, role, org_id: organisation, department_id: department, language }: InviteForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    const actor = actorOf(request);
    const scope = adminScope(request);
    const isOwn = scope.kind === 'organisation' || scope.kind === 'department';
    const organisationId = organisation ?? (isOwn ? scope.organisationId : actor.organisationId);
    if (organisationId === null) throw missingField('org_id');
    const departmentId = department ?? (scope.kind === 'department' ? scope.departmentId : null);
    const wanted = email.map((address) => ({ email: address, role, organisationId, departmentId }));
    const sent = await this.desk.create({ actor, scope }, wanted);
    const locale = language ?? this.pages.localeOf(request);
    for (const [place, invite] of sent.entries()) {
      await this.mail(request, { ...invite, email: email[place] ?? '', role }, locale);
    }
    return done(
      list,
      { ok: true, invites: sent.map(({ id }) => id) },
      {
        tone: 'ok',
        text: 'invites.sent',
        values: { name: email.join(', ').slice(0, 200) },
      },
    );
  }

  @Action(`${form}/:invite_id/revoke`, access(), { audit: 'invite.revoked' })
  async revoke(@Param() { invite_id: id }: InviteParams, @Req() request: HttpRequest): Promise<Done> {
    await this.desk.revoke({ actor: actorOf(request), scope: adminScope(request) }, id);
    return done(list, { ok: true, id }, 'invites.revoked');
  }

  @Action(`${form}/:invite_id/resend`, access(), { audit: 'invite.created' })
  async resend(@Param() { invite_id: id }: InviteParams, @Req() request: HttpRequest): Promise<Done> {
    const sent = await this.desk.resend({ actor: actorOf(request), scope: adminScope(request) }, id);
    await this.mail(request, sent, this.pages.localeOf(request));
    return done(list, { ok: true, id: sent.id }, 'invites.sent', { name: sent.email });
  }

  private mail(
    request: HttpRequest,
    invite: { readonly email: string } & Pick<InviteMail, 'role' | 'token' | 'organisation'>,
    locale: InviteMail['locale'],
  ): Promise<void> {
    const { displayName, email } = actorOf(request);
    const inviter = displayName === '' ? email : displayName;
    const { email: to, ...facts } = invite;
    return this.mails.send({ to, inviter, locale, ...facts });
  }
}
