import { Controller, Param, Query, Req } from '@nestjs/common';
import { type InvoicePayment, Invoices } from '../../billing';
import { AdminViewService, objectActs, userActs, UserRegister } from '../../identity';
import { atLeast, toJsonNumber } from '../../kernel';
import { everyRow, Settings } from '../../platform';
import {
  Access,
  actorOf,
  adminScope,
  Csv,
  csvTable,
  type CsvContent,
  Data,
  type HttpRequest,
  listData,
  listPage,
  localisationOf,
  Page,
  PageRenderer,
  pageRequestOf,
  presentPage,
  queryOf,
} from '../../web';
import { textOf } from '../pages/form-values';
import type { ObjectPageModel } from '../pages/object-page';
import { InvoicePaymentsQuery, UserListQuery, UserPageQuery, UserParams } from './users.dto';
import { type UserLine, userList, userCsvColumns, userTabs } from './user-list';
import { UserPages } from './user-pages.service';
import { UserSpending } from './user-spending';

const PAGE_SIZE = 50;
const EXPORT_BATCH_SIZE = 500;

const PAYMENT_PAGES = { defaultSize: 50, maxSize: 200 };

const presentPayment = ({ id, reference, amount, recordedAt, undoneAt }: InvoicePayment) => ({
  id,
  reference,
  amount_usd: toJsonNumber(amount),
  recorded_at: recordedAt.toISOString(),
  undone_at: undoneAt?.toISOString() ?? null,
});

const filterOf = (query: UserListQuery) => ({
  text: textOf(query.q),
  role: query.role ?? null,
  status: query.status ?? null,
  organisationId: query.org_id ?? null,
});

@Controller()
export class UsersController {
  constructor(
    private readonly users: UserRegister,
    private readonly spending: UserSpending,
    private readonly userPages: UserPages,
    private readonly organisations: AdminViewService,
    private readonly invoices: Invoices,
    private readonly pages: PageRenderer,
    private readonly settings: Settings,
  ) {}

  @Page('/dashboard/admin/users', 'pages/admin/list', Access.role(userActs.view.minimum), { data: true })
  async list(@Query() query: UserListQuery, @Req() request: HttpRequest) {
    const scope = adminScope(request);
    const localisation = localisationOf(this.pages, request);
    const isPlatform = scope.kind === 'platform';
    const [users, organisations] = await Promise.all([
      this.users.page(scope, { ...filterOf(query), cursor: query.cursor ?? null, limit: PAGE_SIZE }),
      isPlatform ? this.organisations.organisations(query.org_id) : [],
    ]);
    const page = { ...users, rows: await this.spending.lines(users.rows) };
    const description = userList(request, query, localisation, scope, organisations);
    return {
      ...listPage(request, page, description, localisation.translate),
      tabs: userTabs('users', localisation.translate),
      data: listData(page, userCsvColumns),
    };
  }

  @Csv('/dashboard/admin/users/export', Access.role(userActs.view.minimum), 'users')
  export(@Query() query: UserListQuery, @Req() request: HttpRequest): CsvContent {
    const scope = adminScope(request);
    const limit = this.settings.auditExportMaxRows;
    const rows = everyRow<UserLine>(limit, EXPORT_BATCH_SIZE, async (page) => {
      const users = await this.users.page(scope, { ...filterOf(query), ...page });
      return { ...users, rows: await this.spending.lines(users.rows) };
    });
    return csvTable(rows, userCsvColumns, limit);
  }

  @Page('/dashboard/admin/users/:user_id', 'pages/admin/object', Access.role(userActs.view.minimum))
  async show(
    @Param() { user_id: id }: UserParams,
    @Query() query: UserPageQuery,
    @Req() request: HttpRequest,
  ): Promise<ObjectPageModel> {
    const acting = { actor: actorOf(request), scope: adminScope(request) };
    const user = await this.users.get(acting.scope, id);
    const names = await this.namesFor(acting.scope, user.organisationId, acting.actor.role);
    return this.userPages.page({ user, acting, names, query }, localisationOf(this.pages, request));
  }

  @Data('/dashboard/admin/users/:user_id/invoice-payments', Access.role(userActs['invoice-payment'].minimum))
  async invoicePayments(
    @Param() { user_id: id }: UserParams,
    @Query() _query: InvoicePaymentsQuery,
    @Req() request: HttpRequest,
  ) {
    await this.users.get(adminScope(request), id);
    const [{ owed, credit }, page] = await Promise.all([
      this.invoices.state(id),
      this.invoices.payments(id, pageRequestOf(queryOf(request), PAYMENT_PAGES)),
    ]);
    return {
      ...presentPage(page, presentPayment, (payment) => String(payment.id)),
      owed_usd: toJsonNumber(owed),
      may_owe_usd: toJsonNumber(credit),
    };
  }

  private async namesFor(
    scope: ReturnType<typeof adminScope>,
    organisationId: number | null,
    role: Parameters<typeof atLeast>[0],
  ): Promise<UserNames> {
    const isPlatform = atLeast(role, objectActs.organisations);
    const [organisations, colleagues] = await Promise.all([
      isPlatform ? this.organisations.organisationsForForm(organisationId) : [],
      organisationId === null ? [] : this.users.names(scope, organisationId),
    ]);
    return { organisations, colleagues };
  }
}

type UserNames = Parameters<UserPages['page']>[0]['names'];
