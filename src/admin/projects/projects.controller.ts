import { Body, Controller, Param, Query, Req } from '@nestjs/common';
import {
  type Acting,
  AdminViewService,
  PersonalSettings,
  placeActs,
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
  type CsvTable,
  done,
  type Done,
  type HttpRequest,
  listData,
  listPage,
  localisationOf,
  Page,
  PageRenderer,
} from '../../web';
import { Budgets } from '../organisations/budgets';
import { BudgetRaiseForm } from '../pages/budget-raise';
import { ChangeForm, missingField, nanoOf, type PersonName, targetOf, textOf } from '../pages/fields';
import type { ObjectPageModel } from '../pages/object-page';
import {
  MemberForm,
  MemberParams,
  NewProjectForm,
  ProjectForm,
  ProjectListQuery,
  ProjectParams,
} from './project-forms';
import {
  newProjectPage,
  projectHelp,
  type ProjectLine,
  projectList,
  projectPage,
  projectFile,
} from './project-pages';

const path = '/dashboard/admin/projects';
const access = () => Access.role(placeActs.projects);
const ROWS_A_PAGE = 50;
const MOST_ROWS = 10_000;
const ROWS_AT_ONCE = 200;

const actingOf = (request: HttpRequest): Acting => ({
  actor: actorOf(request),
  scope: adminScope(request),
});

const filterOf = (query: ProjectListQuery) => ({
  text: textOf(query.q),
  organisationId: query.org_id ?? null,
  archived: query.state === 'archived',
});

/** Projects: the platform's of all organisations, an organisation's, or those one has made or belongs to. */
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
    const [found, organisations, closed] = await Promise.all([
      this.projects.page(scope, { ...filterOf(query), cursor: query.cursor ?? null, limit: ROWS_A_PAGE }),
      scope.kind === 'platform' ? this.names.organisations(query.org_id) : [],
      this.personal.isHelpClosed(actorOf(request).userId, 'projects'),
    ]);
    const page = { ...found, rows: await this.budgets.withBudgets('project', found.rows) };
    const description = projectList(request, query, { organisations, scope }, localisation);
    return {
      ...listPage(request, page, description, translate),
      help: projectHelp(closed, translate),
      data: listData(page, projectFile),
    };
  }

  @Csv(`${path}/export`, access(), 'projects')
  export(@Query() query: ProjectListQuery, @Req() request: HttpRequest): CsvTable {
    const scope = adminScope(request);
    const rows = everyRow<ProjectLine>(MOST_ROWS, ROWS_AT_ONCE, async (page) => {
      const found = await this.projects.page(scope, { ...filterOf(query), ...page });
      return { ...found, rows: await this.budgets.withBudgets('project', found.rows) };
    });
    return csvTable(rows, projectFile, MOST_ROWS);
  }

  @Page(`${path}/new`, 'pages/admin/object', access())
  async make(@Req() request: HttpRequest): Promise<ObjectPageModel> {
    const isPlatform = adminScope(request).kind === 'platform';
    const organisations = isPlatform ? await this.names.organisationsToChoose() : [];
    return newProjectPage(organisations, localisationOf(this.pages, request).translate);
  }

  @Page(`${path}/:project_id`, 'pages/admin/object', access())
  async show(
    @Param() { project_id: id }: ProjectParams,
    @Req() request: HttpRequest,
  ): Promise<ObjectPageModel> {
    const scope = adminScope(request);
    const found = await this.projects.get(scope, id);
    const [[line], members, people] = await Promise.all([
      this.budgets.withBudgets('project', [found]),
      this.projects.members(id),
      this.users.names(scope, found.organisationId),
    ]);
    if (line === undefined) throw fault('not_found');
    return projectPage(line, { members, people }, localisationOf(this.pages, request));
  }

  @Action(path, access(), { audit: 'project.created' })
  async create(@Body() form: NewProjectForm, @Req() request: HttpRequest): Promise<Done> {
    const actor = actorOf(request);
    const scope = adminScope(request);
    const own = scope.kind === 'organisation' ? scope.organisationId : actor.organisationId;
    const fields = { name: form.name, organisationId: form.org_id ?? own };
    const id = await this.projects.create({ actor, scope }, fields, (tx, made) =>
      this.budgets.set(tx, { kind: 'project', id: made }, nanoOf(form.monthly_budget) ?? undefined),
    );
    const { name } = form;
    return done(`${path}/${id}`, { ok: true, id, name }, 'administration.created', { name });
  }

  @Action(`${path}/:project_id`, access(), { audit: 'project.changed' })
  async change(
    @Param() { project_id: id }: ProjectParams,
    @Body() form: ProjectForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    const { name } = form;
    const payer = await this.personOf(request, id, 'billing_user_id', form.billing_user_id);
    const fields: ProjectFields = {
      ...(name === undefined ? {} : { name }),
      ...(payer === undefined ? {} : { billingUserId: payer }),
    };
    const budget = form.monthly_budget === undefined ? undefined : nanoOf(form.monthly_budget);
    const changes = await this.projects.change(actingOf(request), targetOf(id, form), fields, (tx) =>
      this.budgets.set(tx, { kind: 'project', id }, budget),
    );
    return this.saved(id, { changed: Object.keys(changes) });
  }

  @Action(`${path}/:project_id/budget-raise`, access(), { audit: 'project.changed' })
  async raiseBudget(
    @Param() { project_id: id }: ProjectParams,
    @Body() form: BudgetRaiseForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    const raise = this.budgets.raising({ kind: 'project', id }, form, actorOf(request).userId);
    const changes = await this.projects.change(actingOf(request), targetOf(id, form), {}, raise);
    return this.saved(id, { changed: Object.keys(changes) });
  }

  @Action(`${path}/:project_id/archive`, access(), { audit: 'project.archived' })
  async archive(
    @Param() { project_id: id }: ProjectParams,
    @Body() form: ChangeForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    await this.projects.archive(adminScope(request), targetOf(id, form), (tx) =>
      this.keys.endOfProject(tx, id),
    );
    return this.saved(id);
  }

  @Action(`${path}/:project_id/members`, access(), { audit: 'project.member-added' })
  async addMember(
    @Param() { project_id: id }: ProjectParams,
    @Body() form: MemberForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    const userId = await this.personOf(request, id, 'user_id', form.user_id);
    if (typeof userId !== 'number') throw missingField('user_id');
    await this.projects.addMember(adminScope(request), targetOf(id, form), userId);
    return this.saved(id);
  }

  @Action(`${path}/:project_id/members/:user_id/remove`, access(), { audit: 'project.member-removed' })
  async removeMember(
    @Param() { project_id: id, user_id: userId }: MemberParams,
    @Body() form: ChangeForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    await this.projects.removeMember(adminScope(request), targetOf(id, form), userId, (tx) =>
      this.keys.endOfMember(tx, id, userId),
    );
    return this.saved(id);
  }

  /** The person is one of the people of the project's organisation. */
  private async personOf(
    request: HttpRequest,
    projectId: number,
    param: string,
    named: PersonName | null | undefined,
  ): Promise<number | null | undefined> {
    if (typeof named !== 'string') return named;
    const scope = adminScope(request);
    const { organisationId } = await this.projects.get(scope, projectId);
    return this.users.numberOf(scope, named, { param, organisationId });
  }

  private saved(id: number, facts: object = {}): Done {
    return done(`${path}/${id}`, { ok: true, id, ...facts }, 'administration.saved');
  }
}
