import { Body, Controller, Param, Query, Req } from '@nestjs/common';
import { Organisations, objectActs, UserRegister } from '../../identity';
import type { Scope } from '../../kernel';
import { everyRow, type Tx } from '../../platform';
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
} from '../../web';
import { BudgetRaiseForm } from '../pages/admin.dto';
import { nanoOf, targetOf, textOf, confirmationRequired } from '../pages/form-values';
import type { ObjectPageModel } from '../pages/object-page';
import { Budgets } from './budgets';
import {
  NewOrganisationForm,
  OrganisationChangeForm,
  OrganisationListQuery,
  OrganisationParams,
  RemovalForm,
} from './organisations.dto';
import {
  newOrganisationPage,
  organisationList,
  organisationPage,
  organisationCsvColumns,
} from './organisation-pages';
import { type OrganisationLine, OrganisationDetailsQuery } from './organisation-details.query';

const path = '/dashboard/admin/organisations';
const access = () => Access.role(objectActs.organisations);
const PAGE_SIZE = 50;
const MAX_EXPORT_ROWS = 10_000;
const EXPORT_BATCH_SIZE = 200;

@Controller()
export class OrganisationsController {
  constructor(
    private readonly organisations: Organisations,
    private readonly users: UserRegister,
    private readonly budgets: Budgets,
    private readonly details: OrganisationDetailsQuery,
    private readonly pages: PageRenderer,
  ) {}

  @Page(path, 'pages/admin/list', access(), { data: true })
  async list(@Query() query: OrganisationListQuery, @Req() request: HttpRequest) {
    const scope = adminScope(request);
    const localisation = localisationOf(this.pages, request);
    const organisations = await this.organisations.page(scope, {
      text: textOf(query.q),
      cursor: query.cursor ?? null,
      limit: PAGE_SIZE,
    });
    const page = {
      ...organisations,
      rows: await this.budgets.withBudgets('organisation', organisations.rows),
    };
    const description = organisationList(request, query.q, localisation, scope);
    return {
      ...listPage(request, page, description, localisation.translate),
      data: listData(page, organisationCsvColumns),
    };
  }

  @Csv(`${path}/export`, access(), 'organisations')
  export(@Query() query: OrganisationListQuery, @Req() request: HttpRequest): CsvContent {
    const scope = adminScope(request);
    const rows = everyRow<OrganisationLine>(MAX_EXPORT_ROWS, EXPORT_BATCH_SIZE, async (page) => {
      const organisations = await this.organisations.page(scope, { text: textOf(query.q), ...page });
      return { ...organisations, rows: await this.budgets.withBudgets('organisation', organisations.rows) };
    });
    return csvTable(rows, organisationCsvColumns, MAX_EXPORT_ROWS);
  }

  @Page(`${path}/new`, 'pages/admin/object', access())
  showNew(@Req() request: HttpRequest): ObjectPageModel {
    return newOrganisationPage(localisationOf(this.pages, request).translate);
  }

  @Page(`${path}/:org_id`, 'pages/admin/object', access())
  async show(
    @Param() { org_id: id }: OrganisationParams,
    @Req() request: HttpRequest,
  ): Promise<ObjectPageModel> {
    const scope = adminScope(request);
    const [details, members] = await Promise.all([this.details.of(scope, id), this.users.names(scope, id)]);
    const isAdminView = Boolean(request.viewing?.adminView);
    return organisationPage(
      details,
      { members, isAdminView, now: new Date() },
      localisationOf(this.pages, request),
    );
  }

  @Action(path, access(), { audit: 'organisation.created' })
  async create(@Body() form: NewOrganisationForm): Promise<ActionResult> {
    const { name, slug } = form;
    const id = await this.organisations.create({ name, slug }, (tx, newId) =>
      this.budgets.set(tx, { kind: 'organisation', id: newId }, nanoOf(form.monthly_budget) ?? undefined),
    );
    return done(`${path}/${id}`, { ok: true, id, name, slug }, 'administration.created', { name });
  }

  @Action(`${path}/:org_id`, access(), { audit: 'organisation.changed' })
  async change(
    @Param() { org_id: id }: OrganisationParams,
    @Body() form: OrganisationChangeForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const scope = adminScope(request);
    const payer = await this.resolvePayer(scope, id, form);
    if (form.sso_only === true) await this.organisations.refuseLockout(actorOf(request).userId, id);
    const { monthly_budget: budget, credit_ceiling: ceiling } = form;
    const applyBudgets = async (tx: Tx) => ({
      ...(await this.budgets.set(
        tx,
        { kind: 'organisation', id },
        budget === undefined ? undefined : nanoOf(budget),
      )),
      ...(await this.budgets.setCreditCeiling(tx, id, ceiling === undefined ? undefined : nanoOf(ceiling))),
    });
    const changes = await this.organisations.change(
      scope,
      targetOf(id, form),
      fieldsOf(form, payer),
      applyBudgets,
    );
    const { version } = await this.organisations.get(scope, id);
    return done(
      `${path}/${id}`,
      {
        ok: true,
        id,
        changed: Object.keys(changes),
        version,
      },
      'administration.saved',
    );
  }

  @Action(`${path}/:org_id/budget-raise`, access(), { audit: 'organisation.changed' })
  async raiseBudget(
    @Param() { org_id: id }: OrganisationParams,
    @Body() form: BudgetRaiseForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const raise = this.budgets.prepareRaise({ kind: 'organisation', id }, form, actorOf(request).userId);
    const changes = await this.organisations.change(adminScope(request), targetOf(id, form), {}, raise);
    return done(`${path}/${id}`, { ok: true, id, changed: Object.keys(changes) }, 'administration.saved');
  }

  @Action(`${path}/:org_id`, access(), { audit: 'organisation.deleted', verb: 'delete' })
  remove(
    @Param() params: OrganisationParams,
    @Body() form: RemovalForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    return this.removeOrganisation(params.org_id, form, request);
  }

  @Action(`${path}/:org_id/delete`, access(), { audit: 'organisation.deleted' })
  removeByForm(
    @Param() params: OrganisationParams,
    @Body() form: RemovalForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    return this.removeOrganisation(params.org_id, form, request);
  }

  private async removeOrganisation(
    id: number,
    form: RemovalForm,
    request: HttpRequest,
  ): Promise<ActionResult> {
    const { name } = await this.organisations.get(adminScope(request), id);
    if (form.confirmation !== undefined && form.confirmation !== name) {
      throw confirmationRequired(name);
    }
    await this.organisations.remove(adminScope(request), targetOf(id, form), (tx) =>
      this.budgets.remove(tx, { kind: 'organisation', id }),
    );
    return done(path, { ok: true, id }, 'administration.removed', { name });
  }

  private async resolvePayer(
    scope: Scope,
    organisationId: number,
    { billing_user_id: userReference }: OrganisationChangeForm,
  ): Promise<number | null | undefined> {
    if (typeof userReference !== 'string') return userReference;
    return this.users.resolveUserId(scope, userReference, { param: 'billing_user_id', organisationId });
  }
}

/** Returns only fields that the form contains; a null payer removes the payer. */
function fieldsOf(
  form: OrganisationChangeForm,
  payer: number | null | undefined,
): Parameters<Organisations['change']>[2] {
  const { name, slug, billing_exempt: exempt, sso_only: ssoOnly, unknown_fields: unknownFields } = form;
  return {
    ...(name === undefined ? {} : { name }),
    ...(slug === undefined ? {} : { slug }),
    ...(exempt === undefined ? {} : { billingExempt: exempt }),
    ...(ssoOnly === undefined ? {} : { ssoOnly }),
    ...(unknownFields === undefined ? {} : { unknownFields }),
    ...(payer === undefined ? {} : { billingUserId: payer }),
  };
}
