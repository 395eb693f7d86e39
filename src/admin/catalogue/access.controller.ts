import { Body, Controller, Query, Req } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { type DepartmentAccess, ModelAccess, type ModelPolicy } from '../../catalogue';
import { fault, refuseStale, versionOf } from '../../kernel';
import { Database } from '../../platform';
import { Access, Action, actorOf, adminScope, Data, type Done, type HttpRequest, PathId } from '../../web';
import { changed } from './answers';
import {
  DepartmentAccessForm,
  OrganisationGrantForm,
  OrganisationQuery,
  PolicyForm,
  ToggleForm,
} from './access-forms';

const ORGANISATION = Access.role('org_admin');

/** These actions set who may use which models, for the platform, an organisation and its departments. */
@Controller()
export class AccessController {
  constructor(
    private readonly database: Database,
    private readonly access: ModelAccess,
    private readonly activity: ActivityLog,
  ) {}

  @Action('/dashboard/admin/models/domain-toggle', ORGANISATION, {
    audit: 'model.organisation-access-changed',
  })
  async toggle(@Body() form: ToggleForm, @Req() request: HttpRequest): Promise<Done> {
    const organisationId = organisationFor(request, form.org_id);
    const facts = await this.setForOrganisation(request, organisationId, form, { enabled: form.enabled });
    const text = form.enabled ? 'catalogue.done.enabled' : 'catalogue.done.disabled';
    return changed(form, { text, values: { model: form.model }, facts });
  }

  /** The platform's decision: a grant of a restricted model, or a refusal of one that is open to others. */
  @Action('/dashboard/admin/api/model-org-access', Access.role('platform_admin'), {
    audit: 'model.organisation-access-changed',
  })
  async grant(@Body() form: OrganisationGrantForm, @Req() request: HttpRequest): Promise<Done> {
    const change = { granted: form.allowed, denied: !form.allowed };
    const facts = await this.setForOrganisation(request, form.org_id, form, change);
    return changed(form, { text: 'catalogue.done.saved', facts });
  }

  @Data('/dashboard/admin/api/model-policy', ORGANISATION)
  async policy(@Query() query: OrganisationQuery, @Req() request: HttpRequest) {
    const organisationId = organisationFor(request, query.org_id);
    const policy = await this.access.policy(
      actorOf(request).scope,
      this.database.source.manager,
      organisationId,
    );
    return presentPolicy(organisationId, policy);
  }

  @Action('/dashboard/admin/api/model-policy', ORGANISATION, { audit: 'model.policy-changed' })
  async setPolicy(@Body() form: PolicyForm, @Req() request: HttpRequest): Promise<Done> {
    const organisationId = organisationFor(request, form.org_id);
    const policy = await this.database.transaction(async (tx) => {
      const { before, after } = await this.access.setPolicy(actorOf(request).scope, tx, organisationId, {
        mode: form.mode,
        patterns: form.patterns ?? [],
      });
      refuseStale(form.version, versionOf(before));
      const changes = changesOf(before, after);
      if (Object.keys(changes).length === 0) this.activity.nothingChanged();
      else
        await this.activity.write(tx, {
          action: 'model.policy-changed',
          object: { type: 'organisation', id: organisationId },
          concerns: { organisationId },
          changes,
          ...(form.reason === undefined ? {} : { reason: form.reason }),
        });
      return after;
    });
    const facts = presentPolicy(organisationId, policy);
    return changed(form, { text: 'catalogue.done.saved', facts });
  }

  @Data('/dashboard/admin/api/departments/:dept_id/model-access', ORGANISATION)
  async department(@PathId('dept_id') id: number, @Req() request: HttpRequest) {
    return presentDepartment(
      await this.access.department(adminScope(request), this.database.source.manager, id),
    );
  }

  @Action('/dashboard/admin/api/departments/:dept_id/model-access', ORGANISATION, {
    audit: 'department.model-access-changed',
  })
  async setDepartment(
    @PathId('dept_id') id: number,
    @Body() form: DepartmentAccessForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    const department = await this.database.transaction(async (tx) => {
      const known = await this.access.department(adminScope(request), tx, id);
      const wanted = wantedAccess(form, known);
      const { before, after } = await this.access.setDepartment(adminScope(request), tx, id, wanted);
      refuseStale(form.version, versionOf(blockedIn(before)));
      const changes = changesOf({ blocked: blockedIn(before) }, { blocked: blockedIn(after) });
      if (Object.keys(changes).length === 0) this.activity.nothingChanged();
      else
        await this.activity.write(tx, {
          action: 'department.model-access-changed',
          object: { type: 'department', id, label: after.name },
          concerns: { organisationId: after.organisationId, departmentId: id },
          changes,
          ...(form.reason === undefined ? {} : { reason: form.reason }),
        });
      return after;
    });
    const facts = presentDepartment(department);
    return changed(form, { text: 'catalogue.done.saved', facts });
  }

  private setForOrganisation(
    request: HttpRequest,
    organisationId: number,
    { model, reason, version }: ToggleForm | OrganisationGrantForm,
    change: Parameters<ModelAccess['setOrganisation']>[4],
  ) {
    const { scope } = actorOf(request);
    return this.database.transaction(async (tx) => {
      const { before, after } = await this.access.setOrganisation(scope, tx, organisationId, model, change);
      refuseStale(version, versionOf(before));
      const changes = changesOf(before, after);
      if (Object.keys(changes).length === 0) this.activity.nothingChanged();
      else
        await this.activity.write(tx, {
          action: 'model.organisation-access-changed',
          object: { type: 'model', label: model },
          concerns: { organisationId },
          changes,
          ...(reason === undefined ? {} : { reason }),
        });
      return { ok: true, model, org_id: organisationId, ...after, version: versionOf(after) };
    });
  }
}

/** The actor's own organisation; the platform names one, or has chosen one in the administration's view. */
function organisationFor(request: HttpRequest, named: number | undefined): number {
  const scope = named === undefined ? adminScope(request) : actorOf(request).scope;
  if (scope.kind === 'organisation') {
    if (named === undefined || named === scope.organisationId) return scope.organisationId;
    throw fault('not_found', { param: 'org_id' });
  }
  if (scope.kind === 'platform' && named !== undefined) return named;
  throw fault('missing_fields', { details: { required: ['org_id'] } });
}

/** The version of a department's access is that of these. */
export const blockedIn = ({ models }: Pick<DepartmentAccess, 'models'>): string[] =>
  models.filter(({ allowed }) => !allowed).map(({ model }) => model);

function wantedAccess(form: DepartmentAccessForm, { models }: DepartmentAccess): Map<string, boolean> {
  const { allowed = [], blocked = [], allowed_only: allowedOnly = false } = form;
  const open = new Set(allowed);
  const both = blocked.find((name) => open.has(name));
  if (both !== undefined)
    throw fault('validation_error', { param: 'blocked', message: `"${both}" is both allowed and blocked.` });
  const others = allowedOnly ? models.filter(({ model }) => !open.has(model)).map(({ model }) => model) : [];
  return new Map([
    ...others.map((name) => [name, false] as const),
    ...allowed.map((name) => [name, true] as const),
    ...blocked.map((name) => [name, false] as const),
  ]);
}

const presentPolicy = (organisationId: number, policy: ModelPolicy) => ({
  org_id: organisationId,
  mode: policy.mode,
  patterns: policy.patterns,
  version: versionOf(policy),
});

const presentDepartment = ({ id, organisationId, name, models }: DepartmentAccess) => ({
  version: versionOf(blockedIn({ models })),
  dept_id: id,
  org_id: organisationId,
  name,
  allowed: models.filter(({ allowed }) => allowed).map(({ model }) => model),
  blocked: models.filter(({ allowed }) => !allowed).map(({ model }) => model),
});
