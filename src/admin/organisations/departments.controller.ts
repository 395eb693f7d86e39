import { Body, Controller, Param, Query, Req } from '@nestjs/common';
import { AdminViewService, Departments, objectActs } from '../../identity';
import type { Scope } from '../../kernel';
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
import { BudgetRaiseForm } from '../pages/admin.dto';
import { missingField, nanoOf, targetOf } from '../pages/form-values';
import type { ObjectPageModel } from '../pages/object-page';
import { Budgets } from './budgets';
import { departmentsPage } from './departments-page';
import { DepartmentForm, DepartmentParams, NewDepartmentForm, RemovalForm } from './organisations.dto';
import { DepartmentsQuery } from './departments.dto';

const path = '/dashboard/admin/departments';
const access = () => Access.role(objectActs.departments);

@Controller()
export class DepartmentsController {
  constructor(
    private readonly departments: Departments,
    private readonly budgets: Budgets,
    private readonly names: AdminViewService,
    private readonly pages: PageRenderer,
  ) {}

  @Page(path, 'pages/admin/object', access())
  async show(@Query() query: DepartmentsQuery, @Req() request: HttpRequest): Promise<ObjectPageModel> {
    const scope = adminScope(request);
    const localisation = localisationOf(this.pages, request);
    const [departments, organisations] = await Promise.all([
      this.departments.list(scope, query.org_id ?? null),
      scope.kind === 'platform' ? this.names.organisationsForForm(query.org_id) : [],
    ]);
    const lines = await this.budgets.withBudgets('department', departments);
    const scopeText = describeScope(request, localisation.translate, scope);
    return departmentsPage(
      lines,
      { organisations, selectedId: query.org_id ?? null, scopeText },
      localisation,
    );
  }

  @Action(path, access(), { audit: 'department.created' })
  async create(@Body() form: NewDepartmentForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const scope = adminScope(request);
    const organisationId = form.org_id ?? ownOrganisation(scope) ?? actorOf(request).organisationId;
    if (organisationId === null) throw missingField('org_id');
    const { name } = form;
    const id = await this.departments.create(scope, { organisationId, name }, (tx, newId) =>
      this.budgets.set(tx, { kind: 'department', id: newId }, nanoOf(form.monthly_budget) ?? undefined),
    );
    return done(`${path}?org_id=${organisationId}`, { ok: true, id, name }, 'administration.created', {
      name,
    });
  }

  @Action(`${path}/:dept_id`, access(), { audit: 'department.changed' })
  async change(
    @Param() { dept_id: id }: DepartmentParams,
    @Body() form: DepartmentForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const fields = form.name === undefined ? {} : { name: form.name };
    const budget = form.monthly_budget === undefined ? undefined : nanoOf(form.monthly_budget);
    const changes = await this.departments.change(adminScope(request), targetOf(id, form), fields, (tx) =>
      this.budgets.set(tx, { kind: 'department', id }, budget),
    );
    return done(path, { ok: true, id, changed: Object.keys(changes) }, 'administration.saved');
  }

  @Action(`${path}/:dept_id/budget-raise`, access(), { audit: 'department.changed' })
  async raiseBudget(
    @Param() { dept_id: id }: DepartmentParams,
    @Body() form: BudgetRaiseForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const raise = this.budgets.prepareRaise({ kind: 'department', id }, form, actorOf(request).userId);
    const changes = await this.departments.change(adminScope(request), targetOf(id, form), {}, raise);
    return done(path, { ok: true, id, changed: Object.keys(changes) }, 'administration.saved');
  }

  @Action(`${path}/:dept_id/delete`, access(), { audit: 'department.deleted' })
  async remove(
    @Param() { dept_id: id }: DepartmentParams,
    @Body() form: RemovalForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    await this.departments.remove(adminScope(request), targetOf(id, form), (tx) =>
      this.budgets.remove(tx, { kind: 'department', id }),
    );
    return done(path, { ok: true, id }, 'administration.saved');
  }
}

const ownOrganisation = (scope: Scope): number | null =>
  scope.kind === 'organisation' ? scope.organisationId : null;
