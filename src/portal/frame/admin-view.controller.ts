import { Body, Controller, Req } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { AdminViewService, type OrganisationName } from '../../identity';
import { line, oneOf, rowId } from '../../kernel';
import { Database, Takes } from '../../platform';
import {
  Access,
  Action,
  actorOf,
  done,
  type Done,
  type HttpRequest,
  localPath,
  type Notice,
} from '../../web';

const next = line(2_000).orBlank();

class AdminModeForm {
  /** Without it, the view changes to the other one. */
  @Takes(oneOf(['on', 'off'] as const).orBlank())
  admin_mode?: 'on' | 'off';

  @Takes(next)
  next?: string;
}

class OrganisationForm {
  /** An empty one stands for all organisations. */
  @Takes(rowId.orNone())
  org_id?: number | null;

  /** Older clients send the organisation's slug. */
  @Takes(line(63).orBlank())
  domain?: string;

  @Takes(next)
  next?: string;
}

/** The administration's view: opened, narrowed to an organisation, and closed again. Each is on record. */
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
  async toggle(@Body() form: AdminModeForm, @Req() request: HttpRequest): Promise<Done> {
    const actor = actorOf(request);
    const isOpen = Boolean(request.viewing?.adminView);
    const shallOpen = form.admin_mode === undefined ? !isOpen : form.admin_mode === 'on';
    if (shallOpen === isOpen) this.activity.nothingChanged();
    else {
      await this.database.transaction(async (tx) => {
        await this.views.setOpen(tx, actor, shallOpen);
        await this.activity.write(tx, {
          action: shallOpen ? 'admin-mode.entered' : 'admin-mode.left',
          object: { type: 'session', id: actor.sessionId },
        });
      });
    }
    const text = shallOpen ? 'admin.opened' : 'admin.closed';
    const told: Notice | undefined = shallOpen === isOpen ? undefined : { tone: 'info', text };
    return done(localPath(form.next), { ok: true, admin_mode: shallOpen }, told);
  }

  @Action('/dashboard/set-admin-org', Access.role('platform_admin'), {
    audit: 'admin-mode.organisation-chosen',
  })
  narrow(@Body() form: OrganisationForm, @Req() request: HttpRequest): Promise<Done> {
    return this.narrowTo(form, request);
  }

  /** The older address of the same. */
  @Action('/dashboard/set-admin-domain', Access.role('platform_admin'), {
    audit: 'admin-mode.organisation-chosen',
  })
  narrowByDomain(@Body() form: OrganisationForm, @Req() request: HttpRequest): Promise<Done> {
    return this.narrowTo(form, request);
  }

  private async narrowTo(form: OrganisationForm, request: HttpRequest): Promise<Done> {
    const actor = actorOf(request);
    const organisation = await this.wanted(form);
    const before = request.viewing?.adminView?.organisation ?? null;
    const isSame = Boolean(request.viewing?.adminView) && before?.id === organisation?.id;
    if (isSame) this.activity.nothingChanged();
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
    const facts = { ok: true, admin_mode: true, org_id: organisation?.id ?? null };
    return done(localPath(form.next), facts, isSame ? undefined : openedFor(organisation));
  }

  /** Null stands for all of them. */
  private async wanted({ org_id: id, domain }: OrganisationForm): Promise<OrganisationName | null> {
    if (typeof id === 'number') return this.views.organisation(id);
    return id === undefined && domain !== undefined ? this.views.organisation(domain) : null;
  }
}

const openedFor = (organisation: OrganisationName | null): Notice =>
  organisation === null
    ? { tone: 'info', text: 'admin.opened' }
    : { tone: 'info', text: 'admin.narrowed', values: { organisation: organisation.name } };
