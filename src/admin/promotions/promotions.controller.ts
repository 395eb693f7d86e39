import { Body, Controller, Param, Query, Req } from '@nestjs/common';
import { Promotions, type PromotionScope } from '../../billing';
import { AdminViewService, objectActs, UserRegister } from '../../identity';
import { instantField, type Nano, platformScope, validationFault } from '../../kernel';
import {
  Access,
  Action,
  actorOf,
  done,
  type ActionResult,
  type HttpRequest,
  localisationOf,
  Page,
  PageRenderer,
  type UserReference,
} from '../../web';
import { missingField, nanoOf, textOf } from '../pages/form-values';
import { NewPromotionForm, PromotionForm, PromotionListQuery, PromotionParams } from './promotions.dto';
import { promotionsPage } from './promotions-page';

const path = '/dashboard/admin/promotions';
const access = () => Access.role(objectActs.promotions);
const PAGE_SIZE = 25;

const endOf = (text: string | null | undefined): Date | null =>
  text === null || text === undefined ? null : instantField(text, 'expires_at');

@Controller()
export class PromotionsController {
  constructor(
    private readonly promotions: Promotions,
    private readonly users: UserRegister,
    private readonly names: AdminViewService,
    private readonly pages: PageRenderer,
  ) {}

  @Page(path, 'pages/admin/object', access())
  async list(@Query() query: PromotionListQuery, @Req() request: HttpRequest) {
    const filter = { text: textOf(query.q), cursor: query.cursor ?? null, limit: PAGE_SIZE };
    const [page, liability, organisations] = await Promise.all([
      this.promotions.page(filter),
      this.promotions.liability(),
      this.names.organisationsForForm(),
    ]);
    return promotionsPage(request, page, { liability, organisations }, localisationOf(this.pages, request));
  }

  /** Legacy alias of the route below. */
  @Action(path, access(), { audit: 'promotion.granted' })
  grant(@Body() form: NewPromotionForm, @Req() request: HttpRequest): Promise<ActionResult> {
    return this.createPromotion(form, request);
  }

  @Action(`${path}/create`, access(), { audit: 'promotion.granted' })
  create(@Body() form: NewPromotionForm, @Req() request: HttpRequest): Promise<ActionResult> {
    return this.createPromotion(form, request);
  }

  @Action(`${path}/:grant_id/update`, access(), { audit: 'promotion.changed' })
  async update(
    @Param() { grant_id: id }: PromotionParams,
    @Body() form: PromotionForm,
  ): Promise<ActionResult> {
    const { name, version, reason, end, expires_at: expires } = form;
    const changes = await this.promotions.change({
      id,
      ...(typeof version === 'number' ? { version } : {}),
      ...(name === undefined ? {} : { name }),
      ...(end === true ? { end } : expires === undefined ? {} : { expiresAt: endOf(expires) }),
      ...(reason === undefined ? {} : { reason }),
    });
    return done(path, { ok: true, id, changed: Object.keys(changes) }, 'administration.saved');
  }

  private async createPromotion(form: NewPromotionForm, request: HttpRequest): Promise<ActionResult> {
    const { name, scope } = form;
    const userReference = scope === 'user' ? (form.user_id ?? null) : null;
    const organisationId = scope === 'organisation' ? (form.org_id ?? null) : null;
    if (scope === 'user' && userReference === null) throw missingField('user_id');
    if (scope === 'organisation' && organisationId === null) throw missingField('org_id');
    // A promotion with contradictory fields could pay every user instead of one.
    if (userReference === null) refuseTarget('user_id', form.user_id, scope);
    if (organisationId === null) refuseTarget('org_id', form.org_id, scope);
    const userId =
      userReference === null
        ? null
        : await this.users.resolveUserId(platformScope, userReference, { param: 'user_id' });
    if (userId !== null) await this.users.get(platformScope, userId);
    const id = await this.promotions.create({
      name,
      scope,
      userId,
      organisationId,
      amount: amountOf(form.amount),
      expiresAt: endOf(form.expires_at),
      createdBy: actorOf(request).userId,
    });
    return done(path, { ok: true, id }, 'administration.created', { name });
  }
}

function refuseTarget(name: string, value: UserReference | null | undefined, scope: PromotionScope): void {
  if (value === null || value === undefined) return;
  const msg = `${name} is not for the scope ${scope}; leave it out, or choose another scope.`;
  throw validationFault([{ loc: ['body', name], msg, type: 'otherScope' }], { message: msg });
}

function amountOf(text: string | null | undefined): Nano {
  const amount = nanoOf(text) ?? 0n;
  if (amount === 0n) throw missingField('amount');
  return amount;
}
