import { Controller, Query, Req } from '@nestjs/common';
import {
  listDepartments,
  listAccess,
  type ListedAccess,
  ModelAccess,
  type ModelPolicy,
  POLICY_MODES,
} from '../../catalogue';
import { AdminViewService } from '../../identity';
import { fault, versionOf } from '../../kernel';
import { Database } from '../../platform';
import { Access, actorOf, addressOf, adminScope, type HttpRequest, Page, pathOf, queryOf } from '../../web';
import { blockedModels } from './access.controller';
import { MODELS_PAGE } from './change-response';
import { AccessQuery } from './access-pages.dto';

const PAGE_SIZE = 50;

@Controller()
export class AccessPagesController {
  constructor(
    private readonly database: Database,
    private readonly access: ModelAccess,
    private readonly names: AdminViewService,
  ) {}

  @Page(`${MODELS_PAGE}/access`, 'pages/admin/catalogue/access', Access.role('org_admin'))
  async show(@Query() query: AccessQuery, @Req() request: HttpRequest) {
    const mayGrant = actorOf(request).scope.kind === 'platform';
    const organisations = mayGrant ? await this.names.organisationsForForm(query.org_id) : [];
    const organisationId = this.organisationOf(query, request) ?? organisations[0]?.id ?? null;
    if (organisationId === null) return { mayGrant, organisations: [] };
    const { manager } = this.database.source;
    const { scope } = actorOf(request);
    const policy = await this.access.policy(scope, manager, organisationId);
    const departments = await listDepartments(this.database, organisationId);
    const department = departments.find(({ id }) => id === query.dept_id) ?? null;
    if ((query.dept_id ?? null) !== null && department === null)
      throw fault('not_found', { param: 'dept_id' });
    const page = await listAccess(this.database, {
      organisationId,
      departmentId: department?.id ?? null,
      text: query.q?.trim() || null,
      seesAll: mayGrant,
      limit: PAGE_SIZE,
      cursor: query.cursor ?? null,
    });
    const to = (cursor: string | null): string | undefined =>
      cursor === null ? undefined : addressOf(pathOf(request), queryOf(request), { cursor });
    return {
      mayGrant,
      organisationId,
      department,
      ...(department === null
        ? {}
        : {
            departmentVersion: versionOf(
              blockedModels(await this.access.department(adminScope(request), manager, department.id)),
            ),
          }),
      text: query.q ?? '',
      back: `${pathOf(request)}?${queryOf(request).toString()}`,
      organisations: organisations.map(({ id, name }) => ({
        value: id,
        label: name,
        selected: id === organisationId,
      })),
      departments: departments.map(({ id, name }) => ({
        value: id,
        label: name,
        selected: id === department?.id,
      })),
      policy: policyForm(policy),
      models: page.rows.map(presentRow),
      pager: { newerHref: to(page.previous), olderHref: to(page.next) },
    };
  }

  private organisationOf({ org_id: requestedId }: AccessQuery, request: HttpRequest): number | null {
    const scope = adminScope(request);
    if (typeof requestedId === 'number') return requestedId;
    return scope.kind === 'organisation' ? scope.organisationId : null;
  }
}

const policyForm = (policy: ModelPolicy) => ({
  version: versionOf(policy),
  patterns: policy.patterns.join('\n'),
  modes: POLICY_MODES.map((value) => ({ value, selected: value === policy.mode })),
});

const presentRow = (row: ListedAccess) => {
  const { granted, enabled, denied } = row;
  const isOffered = !denied && (!row.restricted || granted);
  return { ...row, isOffered, version: versionOf({ granted, enabled, denied }) };
};
