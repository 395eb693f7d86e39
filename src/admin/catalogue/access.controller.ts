import { Body, Controller, Query, Req } from '@nestjs/common';
import { ActivityLog, changesOf } from '../../audit';
import { type DepartmentModelAccess, ModelAccess, type ModelPolicy } from '../../catalogue';
import { fault, rejectStale, versionOf } from '../../kernel';
import { Database } from '../../platform';
import {
  Access,
  Action,
  actorOf,
  adminScope,
  Data,
  type ActionResult,
  type HttpRequest,
  PathId,
} from '../../web';
import { respondWithChange } from './change-response';
import {
  DepartmentAccessForm,
  OrganisationGrantForm,
  OrganisationQuery,
  PolicyForm,
  ToggleForm,
} from './access.dto';

const ORGANISATION = Access.role('org_admin');

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
  async toggle(@Body() form: ToggleForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const organisationId = organisationFor(request, form.org_id);
    const body = await this.setForOrganisation(request, organisationId, form, { enabled: form.enabled });
    const text = form.enabled ? 'catalogue.done.enabled' : 'catalogue.done.disabled';
    return respondWithChange(form, { text, values: { model: form.model }, body });
  }

  @Action('/dashboard/admin/api/model-org-access', Access.role('platform_admin'), {
    audit: 'model.organisation-access-changed',
  })
  async grant(@Body() form: OrganisationGrantForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const change = { granted: form.allowed, denied: !form.allowed };
    const body = await this.setForOrganisation(request, form.org_id, form, change);
    return respondWithChange(form, { text: 'catalogue.done.saved', body });
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
  async setPolicy(@Body() form: PolicyForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const organisationId = organisationFor(request, form.org_id);
    const policy = await this.database.transaction(async (tx) => {
      const { before, after } = await this.access.setPolicy(actorOf(request).scope, tx, organisationId, {
        mode: form.mode,
        patterns: form.patterns ?? [],
      });
      rejectStale(form.version, versionOf(before));
      const changes = changesOf(before, after);
      if (Object.keys(changes).length === 0) this.activity.reportNoChange();
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
    const body = presentPolicy(organisationId, policy);
    return respondWithChange(form, { text: 'catalogue.done.saved', body });
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
  ): Promise<ActionResult> {
    const department = await this.database.transaction(async (tx) => {
      const current = await this.access.department(adminScope(request), tx, id);
      const requestedAccess = readAccessForm(form, current);
      const { before, after } = await this.access.setDepartment(adminScope(request), tx, id, requestedAccess);
      rejectStale(form.version, versionOf(blockedModels(before)));
      const changes = changesOf({ blocked: blockedModels(before) }, { blocked: blockedModels(after) });
      if (Object.keys(changes).length === 0) this.activity.reportNoChange();
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
    const body = presentDepartment(department);
    return respondWithChange(form, { text: 'catalogue.done.saved', body });
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
      rejectStale(version, versionOf(before));
      const changes = changesOf(before, after);
      if (Object.keys(changes).length === 0) this.activity.reportNoChange();
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

/** Returns the actor's own organisation; the platform names one or chooses it in the administration's view. */
function organisationFor(request: HttpRequest, requestedId: number | undefined): number {
  const scope = requestedId === undefined ? adminScope(request) : actorOf(request).scope;
  if (scope.kind === 'organisation') {
    if (requestedId === undefined || requestedId === scope.organisationId) return scope.organisationId;
    throw fault('not_found', { param: 'org_id' });
  }
  if (scope.kind === 'platform' && requestedId !== undefined) return requestedId;
  throw fault('missing_fields', { details: { required: ['org_id'] } });
}

export const blockedModels = ({ models }: Pick<DepartmentModelAccess, 'models'>): string[] =>
  models.filter(({ allowed }) => !allowed).map(({ model }) => model);

function readAccessForm(form: DepartmentAccessForm, { models }: DepartmentModelAccess): Map<string, boolean> {
  const { allowed = [], blocked = [], allowed_only: allowedOnly = false } = form;
  const allowedModels = new Set(allowed);
  const conflicting = blocked.find((name) => allowedModels.has(name));
  if (conflicting !== undefined)
    throw fault('validation_error', {
      param: 'blocked',
      message: `"${conflicting}" is both allowed and blocked.`,
    });
  const others = allowedOnly
    ? models.filter(({ model }) => !allowedModels.has(model)).map(({ model }) => model)
    : [];
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

const presentDepartment = ({ id, organisationId, name, models }: DepartmentModelAccess) => ({
  version: versionOf(blockedModels({ models })),
  dept_id: id,
  org_id: organisationId,
  name,
  allowed: models.filter(({ allowed }) => allowed).map(({ model }) => model),
  blocked: models.filter(({ allowed }) => !allowed).map(({ model }) => model),
});
