import { Body, Controller, Param, Query, Req } from '@nestjs/common';
import { Organisations, placeActs, UserRegister } from '../../identity';
import type { Scope } from '../../kernel';
import { everyRow, type Tx } from '../../platform';
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
import { BudgetRaiseForm } from '../pages/budget-raise';
import { nanoOf, targetOf, textOf, unconfirmed } from '../pages/fields';
import type { ObjectPageModel } from '../pages/object-page';
import { Budgets } from './budgets';
import {
  NewOrganisationForm,
  OrganisationForm,
  OrganisationListQuery,
  OrganisationParams,
  RemovalForm,
} from './organisation-forms';
import {
  newOrganisationPage,
  organisationList,
  organisationPage,
  organisationFile,
} from './organisation-pages';
import { type OrganisationLine, OrganisationView } from './organisation-view';

const path = '/dashboard/admin/organisations';
const access = () => Access.role(placeActs.organisations);
const ROWS_A_PAGE = 50;
const MOST_ROWS = 10_000;
const ROWS_AT_ONCE = 200;

@Controller()
export class OrganisationsController {
  constructor(
    private readonly organisations: Organisations,
    private readonly users: UserRegister,
    private readonly budgets: Budgets,
    private readonly view: OrganisationView,
    private readonly pages: PageRenderer,
  ) {}

  @Page(path, 'pages/admin/list', access(), { data: true })
  async list(@Query() query: OrganisationListQuery, @Req() request: HttpRequest) {
    const scope = adminScope(request);
    const localisation = localisationOf(this.pages, request);
    const found = await this.organisations.page(scope, {
      text: textOf(query.q),
      cursor: query.cursor ?? null,
      limit: ROWS_A_PAGE,
    });
    const page = { ...found, rows: await this.budgets.withBudgets('organisation', found.rows) };
    const description = organisationList(request, query.q, localisation, scope);
    return {
      ...listPage(request, page, description, localisation.translate),
      data: listData(page, organisationFile),
    };
  }

  @Csv(`${path}/export`, access(), 'organisations')
  export(@Query() query: OrganisationListQuery, @Req() request: HttpRequest): CsvTable {
    const scope = adminScope(request);
    const rows = everyRow<OrganisationLine>(MOST_ROWS, ROWS_AT_ONCE, async (page) => {
      const found = await this.organisations.page(scope, { text: textOf(query.q), ...page });
      return { ...found, rows: await this.budgets.withBudgets('organisation', found.rows) };
    });
    return csvTable(rows, organisationFile, MOST_ROWS);
  }

  @Page(`${path}/new`, 'pages/admin/object', access())
  make(@Req() request: HttpRequest): ObjectPageModel {
    return newOrganisationPage(localisationOf(this.pages, request).translate);
  }

  @Page(`${path}/:org_id`, 'pages/admin/object', access())
  async show(
    @Param() { org_id: id }: OrganisationParams,
    @Req() request: HttpRequest,
  ): Promise<ObjectPageModel> {
    const scope = adminScope(request);
    const [facts, members] = await Promise.all([this.view.of(scope, id), this.users.names(scope, id)]);
    const isAdminView = Boolean(request.viewing?.adminView);
    return organisationPage(
      facts,
      { members, isAdminView, now: new Date() },
      localisationOf(this.pages, request),
    );
  }

  @Action(path, access(), { audit: 'organisation.created' })
  async create(@Body() form: NewOrganisationForm): Promise<Done> {
    const { name, slug } = form;
    const id = await this.organisations.create({ name, slug }, (tx, made) =>
      this.budgets.set(tx, { kind: 'organisation', id: made }, nanoOf(form.monthly_budget) ?? undefined),
    );
    return done(`${path}/${id}`, { ok: true, id, name, slug }, 'administration.created', { name });
  }

  @Action(`${path}/:org_id`, access(), { audit: 'organisation.changed' })
  async change(
    @Param() { org_id: id }: OrganisationParams,
    @Body() form: OrganisationForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    const scope = adminScope(request);
    const payer = await this.payerOf(scope, id, form);
    if (form.sso_only === true) await this.organisations.refuseLockout(actorOf(request).userId, id);
    const { monthly_budget: budget, credit_ceiling: ceiling } = form;
    const work = async (tx: Tx) => ({
      ...(await this.budgets.set(
        tx,
        { kind: 'organisation', id },
        budget === undefined ? undefined : nanoOf(budget),
      )),
      ...(await this.budgets.setCreditCeiling(tx, id, ceiling === undefined ? undefined : nanoOf(ceiling))),
    });
    const changes = await this.organisations.change(scope, targetOf(id, form), fieldsOf(form, payer), work);
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
  ): Promise<Done> {
    const raise = this.budgets.raising({ kind: 'organisation', id }, form, actorOf(request).userId);
    const changes = await this.organisations.change(adminScope(request), targetOf(id, form), {}, raise);
    return done(`${path}/${id}`, { ok: true, id, changed: Object.keys(changes) }, 'administration.saved');
  }

  @Action(`${path}/:org_id`, access(), { audit: 'organisation.deleted', verb: 'delete' })
  remove(
    @Param() params: OrganisationParams,
    @Body() form: RemovalForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    return this.removed(params.org_id, form, request);
  }

  /** A POST route for forms, which cannot send DELETE. */
  @Action(`${path}/:org_id/delete`, access(), { audit: 'organisation.deleted' })
  removeByForm(
    @Param() params: OrganisationParams,
    @Body() form: RemovalForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    return this.removed(params.org_id, form, request);
  }

  private async removed(id: number, form: RemovalForm, request: HttpRequest): Promise<Done> {
    const { name } = await this.organisations.get(adminScope(request), id);
    if (form.confirmation !== undefined && form.confirmation !== name) {
      throw unconfirmed(name);
    }
    await this.organisations.remove(adminScope(request), targetOf(id, form), (tx) =>
      this.budgets.remove(tx, { kind: 'organisation', id }),
    );
    return done(path, { ok: true, id }, 'administration.removed', { name });
  }

  private async payerOf(
    scope: Scope,
    organisationId: number,
    { billing_user_id: named }: OrganisationForm,
  ): Promise<number | null | undefined> {
    if (typeof named !== 'string') return named;
    return this.users.numberOf(scope, named, { param: 'billing_user_id', organisationId });
  }
}

/** It returns only fields that the form contains; an empty payer removes the payer. */
function fieldsOf(
  form: OrganisationForm,
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
