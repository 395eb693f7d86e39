import { Body, Controller, Param, Query, Req } from '@nestjs/common';
import { AdminViewService, Departments, InviteAdminService, userActs } from '../../identity';
import { canGrant } from '../../kernel';
import {
  Access,
  Action,
  actorOf,
  adminScope,
  done,
  type ActionResult,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
  describeScope,
} from '../../web';
import { missingField } from '../pages/form-values';
import type { ObjectPageModel } from '../pages/object-page';
import { InviteForm, InviteListQuery, InviteParams, invitableRoles } from './invites.dto';
import { type InviteMail, InviteMails } from './invite-mails';
import { inviteListPage, invitePage } from './invite-pages';
import { InvitePageQuery } from './invites.dto';

const INVITE_PATH = '/dashboard/admin/users/invite';
const PAGE_SIZE = 50;
const INVITES_PATH = '/dashboard/admin/users/invites';
const access = () => Access.role(userActs.invite.minimum);

@Controller()
export class InvitesController {
  constructor(
    private readonly inviteService: InviteAdminService,
    private readonly mails: InviteMails,
    private readonly names: AdminViewService,
    private readonly departments: Departments,
    private readonly pages: PageRenderer,
  ) {}

  @Page(INVITES_PATH, 'pages/admin/object', access())
  async list(@Query() { cursor }: InviteListQuery, @Req() request: HttpRequest): Promise<ObjectPageModel> {
    const scope = adminScope(request);
    const { translate } = localisationOf(this.pages, request);
    const page = await this.inviteService.page(scope, { cursor: cursor ?? null, limit: PAGE_SIZE });
    return inviteListPage(request, page, describeScope(request, translate, scope), translate);
  }

  @Page(INVITE_PATH, 'pages/admin/object', access())
  async show(@Query() query: InvitePageQuery, @Req() request: HttpRequest): Promise<ObjectPageModel> {
    const scope = adminScope(request);
    const { role } = actorOf(request);
    const { translate, locale } = localisationOf(this.pages, request);
    const [organisations, departments] = await Promise.all([
      scope.kind === 'platform' ? this.names.organisationsForForm() : [],
      this.departments.list(scope),
    ]);
    const roles = invitableRoles.filter((candidate) => canGrant(role, candidate));
    const scopeText = describeScope(request, translate, scope);
    return invitePage(
      { organisations, departments, roles, scopeText, email: query.email ?? '', locale },
      translate,
    );
  }

  @Action(INVITE_PATH, access(), { audit: 'invite.created' })
  async create(
    @Body() { email, role, org_id: organisation, department_id: department, language }: InviteForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const actor = actorOf(request);
    const scope = adminScope(request);
    const isOwn = scope.kind === 'organisation' || scope.kind === 'department';
    const organisationId = organisation ?? (isOwn ? scope.organisationId : actor.organisationId);
    if (organisationId === null) throw missingField('org_id');
    const departmentId = department ?? (scope.kind === 'department' ? scope.departmentId : null);
    const newInvites = email.map((address) => ({ email: address, role, organisationId, departmentId }));
    const createdInvites = await this.inviteService.create({ actor, scope }, newInvites);
    const locale = language ?? this.pages.localeOf(request);
    for (const [index, invite] of createdInvites.entries()) {
      await this.mail(request, { ...invite, email: email[index] ?? '', role }, locale);
    }
    return done(
      INVITES_PATH,
      { ok: true, invites: createdInvites.map(({ id }) => id) },
      {
        tone: 'ok',
        text: 'invites.sent',
        values: { name: email.join(', ').slice(0, 200) },
      },
    );
  }

  @Action(`${INVITE_PATH}/:invite_id/revoke`, access(), { audit: 'invite.revoked' })
  async revoke(@Param() { invite_id: id }: InviteParams, @Req() request: HttpRequest): Promise<ActionResult> {
    await this.inviteService.revoke({ actor: actorOf(request), scope: adminScope(request) }, id);
    return done(INVITES_PATH, { ok: true, id }, 'invites.revoked');
  }

  @Action(`${INVITE_PATH}/:invite_id/resend`, access(), { audit: 'invite.created' })
  async resend(@Param() { invite_id: id }: InviteParams, @Req() request: HttpRequest): Promise<ActionResult> {
    const invite = await this.inviteService.resend(
      { actor: actorOf(request), scope: adminScope(request) },
      id,
    );
    await this.mail(request, invite, this.pages.localeOf(request));
    return done(INVITES_PATH, { ok: true, id: invite.id }, 'invites.sent', { name: invite.email });
  }

  private mail(
    request: HttpRequest,
    invite: { readonly email: string } & Pick<InviteMail, 'role' | 'token' | 'organisation'>,
    locale: InviteMail['locale'],
  ): Promise<void> {
    const { displayName, email } = actorOf(request);
    const inviter = displayName === '' ? email : displayName;
    const { email: to, ...details } = invite;
    return this.mails.send({ to, inviter, locale, ...details });
  }
}
