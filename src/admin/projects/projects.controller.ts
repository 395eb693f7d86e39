import { Body, Controller, Param, Query, Req } from '@nestjs/common';
import {
  type ActorContext,
  AdminViewService,
  PersonalSettings,
  objectActs,
  type ProjectFields,
  Projects,
  UserRegister,
} from '../../identity';
import { fault } from '../../kernel';
import { KeyTransfers } from '../../keys';
import { everyRow } from '../../platform';
import {
  Access,
  Action,
  actorOf,
  adminScope,
  Csv,
  csvTable,
  type CsvContent,
  done,
  type ActionResult,
  type HttpRequest,
  listData,
  listPage,
  localisationOf,
  Page,
  PageRenderer,
  type UserReference,
} from '../../web';
import { Budgets } from '../organisations/budgets';
import { BudgetRaiseForm } from '../pages/admin.dto';
import { ChangeForm } from '../pages/admin.dto';
import { missingField, nanoOf, targetOf, textOf } from '../pages/form-values';
import type { ObjectPageModel } from '../pages/object-page';
import {
  MemberForm,
  MemberParams,
  NewProjectForm,
  ProjectForm,
  ProjectListQuery,
  ProjectParams,
} from './projects.dto';
import {
  newProjectPage,
  projectHelp,
  type ProjectLine,
  projectList,
  projectPage,
  projectCsvColumns,
} from './project-pages';

const path = '/dashboard/admin/projects';
const access = () => Access.role(objectActs.projects);
const PAGE_SIZE = 50;
const MAX_EXPORT_ROWS = 10_000;
const EXPORT_BATCH_SIZE = 200;

const actingOf = (request: HttpRequest): ActorContext => ({
  actor: actorOf(request),
  scope: adminScope(request),
});

const filterOf = (query: ProjectListQuery) => ({
  text: textOf(query.q),
  organisationId: query.org_id ?? null,
  archived: query.state === 'archived',
});

@Controller()
export class ProjectsController {
  constructor(
    private readonly projects: Projects,
    private readonly users: UserRegister,
    private readonly names: AdminViewService,
    private readonly budgets: Budgets,
    private readonly personal: PersonalSettings,
    private readonly keys: KeyTransfers,
    private readonly pages: PageRenderer,
  ) {}

  @Page(path, 'pages/admin/list', access(), { data: true })
  async list(@Query() query: ProjectListQuery, @Req() request: HttpRequest) {
    const scope = adminScope(request);
    const localisation = localisationOf(this.pages, request);
    const { translate } = localisation;
    const [projects, organisations, closed] = await Promise.all([
      this.projects.page(scope, { ...filterOf(query), cursor: query.cursor ?? null, limit: PAGE_SIZE }),
      scope.kind === 'platform' ? this.names.organisations(query.org_id) : [],
      this.personal.isHelpClosed(actorOf(request).userId, 'projects'),
    ]);
    const page = { ...projects, rows: await this.budgets.withBudgets('project', projects.rows) };
    const description = projectList(request, query, { organisations, scope }, localisation);
    return {
      ...listPage(request, page, description, translate),
      help: projectHelp(closed, translate),
      data: listData(page, projectCsvColumns),
    };
  }

  @Csv(`${path}/export`, access(), 'projects')
  export(@Query() query: ProjectListQuery, @Req() request: HttpRequest): CsvContent {
    const scope = adminScope(request);
    const rows = everyRow<ProjectLine>(MAX_EXPORT_ROWS, EXPORT_BATCH_SIZE, async (page) => {
      const projects = await this.projects.page(scope, { ...filterOf(query), ...page });
      return { ...projects, rows: await this.budgets.withBudgets('project', projects.rows) };
    });
    return csvTable(rows, projectCsvColumns, MAX_EXPORT_ROWS);
  }

  @Page(`${path}/new`, 'pages/admin/object', access())
  async showNew(@Req() request: HttpRequest): Promise<ObjectPageModel> {
    const isPlatform = adminScope(request).kind === 'platform';
    const organisations = isPlatform ? await this.names.organisationsForForm() : [];
    return newProjectPage(organisations, localisationOf(this.pages, request).translate);
  }

  @Page(`${path}/:project_id`, 'pages/admin/object', access())
  async show(
    @Param() { project_id: id }: ProjectParams,
    @Req() request: HttpRequest,
  ): Promise<ObjectPageModel> {
    const scope = adminScope(request);
    const project = await this.projects.get(scope, id);
    const [[line], members, users] = await Promise.all([
      this.budgets.withBudgets('project', [project]),
      this.projects.members(id),
      this.users.names(scope, project.organisationId),
    ]);
    if (line === undefined) throw fault('not_found');
    return projectPage(line, { members, users }, localisationOf(this.pages, request));
  }

  @Action(path, access(), { audit: 'project.created' })
  async create(@Body() form: NewProjectForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const actor = actorOf(request);
    const scope = adminScope(request);
    const ownOrganisationId = scope.kind === 'organisation' ? scope.organisationId : actor.organisationId;
    const fields = { name: form.name, organisationId: form.org_id ?? ownOrganisationId };
    const id = await this.projects.create({ actor, scope }, fields, (tx, newId) =>
      this.budgets.set(tx, { kind: 'project', id: newId }, nanoOf(form.monthly_budget) ?? undefined),
    );
    const { name } = form;
    return done(`${path}/${id}`, { ok: true, id, name }, 'administration.created', { name });
  }

  @Action(`${path}/:project_id`, access(), { audit: 'project.changed' })
  async change(
    @Param() { project_id: id }: ProjectParams,
    @Body() form: ProjectForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const { name } = form;
    const payer = await this.resolveUser(request, id, 'billing_user_id', form.billing_user_id);
    const fields: ProjectFields = {
      ...(name === undefined ? {} : { name }),
      ...(payer === undefined ? {} : { billingUserId: payer }),
    };
    const budget = form.monthly_budget === undefined ? undefined : nanoOf(form.monthly_budget);
    const changes = await this.projects.change(actingOf(request), targetOf(id, form), fields, (tx) =>
      this.budgets.set(tx, { kind: 'project', id }, budget),
    );
    return this.respondSaved(id, { changed: Object.keys(changes) });
  }

  @Action(`${path}/:project_id/budget-raise`, access(), { audit: 'project.changed' })
  async raiseBudget(
    @Param() { project_id: id }: ProjectParams,
    @Body() form: BudgetRaiseForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const raise = this.budgets.prepareRaise({ kind: 'project', id }, form, actorOf(request).userId);
    const changes = await this.projects.change(actingOf(request), targetOf(id, form), {}, raise);
    return this.respondSaved(id, { changed: Object.keys(changes) });
  }

  @Action(`${path}/:project_id/archive`, access(), { audit: 'project.archived' })
  async archive(
    @Param() { project_id: id }: ProjectParams,
    @Body() form: ChangeForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    await this.projects.archive(adminScope(request), targetOf(id, form), (tx) =>
      this.keys.revokeOfProject(tx, id),
    );
    return this.respondSaved(id);
  }

  @Action(`${path}/:project_id/members`, access(), { audit: 'project.member-added' })
  async addMember(
    @Param() { project_id: id }: ProjectParams,
    @Body() form: MemberForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const userId = await this.resolveUser(request, id, 'user_id', form.user_id);
    if (typeof userId !== 'number') throw missingField('user_id');
    await this.projects.addMember(adminScope(request), targetOf(id, form), userId);
    return this.respondSaved(id);
  }

  @Action(`${path}/:project_id/members/:user_id/remove`, access(), { audit: 'project.member-removed' })
  async removeMember(
    @Param() { project_id: id, user_id: userId }: MemberParams,
    @Body() form: ChangeForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    await this.projects.removeMember(adminScope(request), targetOf(id, form), userId, (tx) =>
      this.keys.revokeOfMember(tx, id, userId),
    );
    return this.respondSaved(id);
  }

  private async resolveUser(
    request: HttpRequest,
    projectId: number,
    param: string,
    userReference: UserReference | null | undefined,
  ): Promise<number | null | undefined> {
    if (typeof userReference !== 'string') return userReference;
    const scope = adminScope(request);
    const { organisationId } = await this.projects.get(scope, projectId);
    return this.users.resolveUserId(scope, userReference, { param, organisationId });
  }

  private respondSaved(id: number, body: object = {}): ActionResult {
    return done(`${path}/${id}`, { ok: true, id, ...body }, 'administration.saved');
  }
}
