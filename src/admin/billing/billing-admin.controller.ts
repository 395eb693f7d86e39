import { Body, Controller, Query, Req } from '@nestjs/common';
import {
  BillingOperators,
  BillingReconciliation,
  PaymentProcessor,
  Payments,
  ProcessorInbox,
  readCents,
} from '../../billing';
import { UserRegister } from '../../identity';
import { nanoPerCent, platformScope, validationFault } from '../../kernel';
import {
  Access,
  Action,
  actorOf,
  done,
  type ActionResult,
  type HttpRequest,
  Page,
  PageRenderer,
  PathText,
  queryOf,
} from '../../web';
import { missingField } from '../pages/form-values';
import { billingAdminModel } from './billing-admin-model';
import { BillingAdminQuery, RefundForm, AdjustForm, ResolveForm } from './billing-admin.dto';

const BILLING_PATH = '/dashboard/admin/billing';
const PAGE_SIZE = 50;
const MAX_CENTS = 100_000_000n;

@Controller()
export class BillingAdminController {
  constructor(
    private readonly operators: BillingOperators,
    private readonly reconciliation: BillingReconciliation,
    private readonly payments: Payments,
    private readonly users: UserRegister,
    private readonly inbox: ProcessorInbox,
    private readonly processor: PaymentProcessor,
    private readonly pages: PageRenderer,
  ) {}

  @Page(BILLING_PATH, 'pages/admin/billing', Access.role('platform_admin'))
  async show(@Query() query: BillingAdminQuery, @Req() request: HttpRequest) {
    const { q = '', reconcile, cursor = null, events = null } = query;
    const wantsReport = reconcile !== undefined && this.processor.isConnected;
    const [payments, quarantined, report] = await Promise.all([
      this.payments.search(q.trim(), { cursor, limit: PAGE_SIZE }),
      this.inbox.listQuarantined({ cursor: events, limit: PAGE_SIZE }),
      wantsReport ? this.reconciliation.reconcile(reconcile) : null,
    ]);
    const { isConnected, isTestMode, isSandbox } = this.processor;
    return billingAdminModel(
      { q, payments, quarantined, report, isConnected, isTestMode, isSandbox, query: queryOf(request) },
      this.pages.textsFor(request),
    );
  }

  @Action(`${BILLING_PATH}/payments/:payment/refund`, Access.role('platform_admin'), {
    audit: 'billing.refund-ordered',
  })
  async refund(
    @PathText('payment') publicId: string,
    @Body() { amount = '', reason, token }: RefundForm,
  ): Promise<ActionResult> {
    await this.operators.refund(publicId, amount.trim() === '' ? null : amountOf(amount), { reason, token });
    return this.done('billing.desk.refunded');
  }

  @Action(`${BILLING_PATH}/adjust`, Access.role('platform_admin'), { audit: 'billing.adjusted' })
  async adjust(
    @Body() { user_id: userReference, amount, direction, reason, token }: AdjustForm,
  ): Promise<ActionResult> {
    const nano = amountOf(amount) * nanoPerCent;
    if (userReference === undefined || userReference === null) throw missingField('user_id');
    const userId = await this.users.resolveUserId(platformScope, userReference, { param: 'user_id' });
    const walletAmount = direction === 'credit' ? nano : -nano;
    const isRecorded = await this.operators.adjust(userId, walletAmount, { reason, token });
    return this.done(isRecorded ? 'billing.desk.adjusted' : 'billing.desk.repeated');
  }

  @Action(`${BILLING_PATH}/events/:event/resolve`, Access.role('platform_admin'), {
    audit: 'billing.event-resolved',
  })
  async resolve(
    @PathText('event') eventId: string,
    @Body() { reason, how }: ResolveForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    await this.inbox.resolve(eventId, how, { reason, userId: actorOf(request).userId });
    return this.done('billing.desk.resolved');
  }

  private done(text: string): ActionResult {
    return done(BILLING_PATH, { ok: true }, text);
  }
}

function amountOf(text: string): bigint {
  const cents = readCents(text);
  if (cents !== null && cents > 0n && cents <= MAX_CENTS) return cents;
  const msg = 'must be above 0 and at most 1000000 US dollars, with at most two decimals';
  throw validationFault([{ loc: ['body', 'amount'], msg, type: 'amount' }], { message: `amount ${msg}.` });
}
