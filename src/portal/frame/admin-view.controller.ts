import { Body, Controller, Req } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { AdminViewService, type OrganisationName } from '../../identity';
import { Database } from '../../platform';
import {
  Access,
  Action,
  actorOf,
  done,
  type ActionResult,
  type HttpRequest,
  localPath,
  type Notice,
} from '../../web';
import { AdminModeForm, AdminViewOrganisationForm } from './admin-view.dto';

/** Opens and closes the administration view and narrows it to an organisation; every change is audited. */
@Controller()
export class AdminViewController {
  constructor(
    private readonly database: Database,
    private readonly views: AdminViewService,
    private readonly activity: ActivityLog,
  ) {}

  @Action('/dashboard/toggle-admin-mode', Access.role('department_admin'), {
    audit: ['admin-mode.entered', 'admin-mode.left'],
  })
  async toggle(@Body() form: AdminModeForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const actor = actorOf(request);
    const isOpen = Boolean(request.viewing?.adminView);
    const shouldOpen = form.admin_mode === undefined ? !isOpen : form.admin_mode === 'on';
    if (shouldOpen === isOpen) this.activity.reportNoChange();
    else {
      await this.database.transaction(async (tx) => {
        await this.views.setOpen(tx, actor, shouldOpen);
        await this.activity.write(tx, {
          action: shouldOpen ? 'admin-mode.entered' : 'admin-mode.left',
          object: { type: 'session', id: actor.sessionId },
        });
      });
    }
    const text = shouldOpen ? 'admin.opened' : 'admin.closed';
    const notice: Notice | undefined = shouldOpen === isOpen ? undefined : { tone: 'info', text };
    return done(localPath(form.next), { ok: true, admin_mode: shouldOpen }, notice);
  }

  @Action('/dashboard/set-admin-org', Access.role('platform_admin'), {
    audit: 'admin-mode.organisation-chosen',
  })
  narrow(@Body() form: AdminViewOrganisationForm, @Req() request: HttpRequest): Promise<ActionResult> {
    return this.narrowTo(form, request);
  }

  /** Legacy alias of the route above. */
  @Action('/dashboard/set-admin-domain', Access.role('platform_admin'), {
    audit: 'admin-mode.organisation-chosen',
  })
  narrowByDomain(
    @Body() form: AdminViewOrganisationForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    return this.narrowTo(form, request);
  }

  private async narrowTo(form: AdminViewOrganisationForm, request: HttpRequest): Promise<ActionResult> {
    const actor = actorOf(request);
    const organisation = await this.findOrganisation(form);
    const before = request.viewing?.adminView?.organisation ?? null;
    const isSame = Boolean(request.viewing?.adminView) && before?.id === organisation?.id;
    if (isSame) this.activity.reportNoChange();
    else {
      await this.database.transaction(async (tx) => {
        await this.views.narrow(tx, actor, organisation);
        await this.activity.write(tx, {
          action: 'admin-mode.organisation-chosen',
          object: { type: 'session', id: actor.sessionId, label: organisation?.name },
          changes: { organisation: [before?.name ?? null, organisation?.name ?? null] },
        });
      });
    }
    const result = { ok: true, admin_mode: true, org_id: organisation?.id ?? null };
    return done(localPath(form.next), result, isSame ? undefined : openedNotice(organisation));
  }

  /** Returns null for all organisations. */
  private async findOrganisation({
    org_id: id,
    domain,
  }: AdminViewOrganisationForm): Promise<OrganisationName | null> {
    if (typeof id === 'number') return this.views.organisation(id);
    return id === undefined && domain !== undefined ? this.views.organisation(domain) : null;
  }
}

const openedNotice = (organisation: OrganisationName | null): Notice =>
  organisation === null
    ? { tone: 'info', text: 'admin.opened' }
    : { tone: 'info', text: 'admin.narrowed', values: { organisation: organisation.name } };
