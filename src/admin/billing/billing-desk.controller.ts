import { Body, Controller, Query, Req } from '@nestjs/common';
import { Transform } from 'class-transformer';
import {
  BillingOperators,
  BillingReconciliation,
  PaymentProcessor,
  Payments,
  ProcessorInbox,
  readCents,
} from '../../billing';
import { UserRegister } from '../../identity';
import { line, nanoPerCent, platformScope, validationFault, whole } from '../../kernel';
import { IsIn, IsOptional, IsUUID, Length, MaxLength, Takes } from '../../platform';
import {
  Access,
  Action,
  actorOf,
  done,
  type Done,
  type HttpRequest,
  IsCursor,
  Page,
  PageRenderer,
  PathText,
  queryOf,
} from '../../web';
import { IsPerson, missingField, type PersonName } from '../pages/fields';
import { deskModel } from './billing-desk-model';

const trimmed = ({ value }: { value: unknown }): unknown =>
  typeof value === 'string' ? value.trim() : value;

class DeskQuery {
  /** A mail address, the number of a user, or the id of a payment here or at the processor. */
  @Takes(line(254).optional())
  q?: string;

  /** The check compares this many days with the processor's own list. */
  @Takes(whole(1, 999).orBlank())
  reconcile?: number;

  /** It is a cursor of the list of payments. */
  @IsCursor()
  cursor?: string;

  /** The cursor of the quarantine. */
  @IsCursor()
  events?: string;
}

class ActForm {
  @Transform(trimmed)
  @Length(3, 500)
  reason: string;

  @IsUUID()
  token: string;
}

class RefundForm extends ActForm {
  /** It is in US dollars; without it, the whole rest is refunded. */
  @IsOptional()
  @MaxLength(20)
  amount?: string;
}

class AdjustForm extends ActForm {
  @IsPerson()
  user_id?: PersonName | null;

  @MaxLength(20)
  amount: string;

  @IsIn(['credit', 'debit'])
  direction: 'credit' | 'debit';
}

class ResolveForm {
  @Transform(trimmed)
  @Length(3, 500)
  reason: string;

  @IsIn(['retry', 'dismiss'])
  how: 'retry' | 'dismiss';
}

const DESK = '/dashboard/admin/billing';
const SHOWN = 50;
const MOST_CENTS = 100_000_000n;

/** The operator's desk for money: refunds, adjustments, events that contradict us, and whether the books agree. */
@Controller()
export class BillingDeskController {
  constructor(
    private readonly operators: BillingOperators,
    private readonly reconciliation: BillingReconciliation,
    private readonly payments: Payments,
    private readonly users: UserRegister,
    private readonly inbox: ProcessorInbox,
    private readonly processor: PaymentProcessor,
    private readonly pages: PageRenderer,
  ) {}

  @Page(DESK, 'pages/admin/billing', Access.role('platform_admin'))
  async show(@Query() query: DeskQuery, @Req() request: HttpRequest) {
    const { q = '', reconcile, cursor = null, events = null } = query;
    const wantsReport = reconcile !== undefined && this.processor.isConnected;
    const [payments, quarantined, report] = await Promise.all([
      this.payments.search(q.trim(), { cursor, limit: SHOWN }),
      this.inbox.quarantined({ cursor: events, limit: SHOWN }),
      wantsReport ? this.reconciliation.reconcile(reconcile) : null,
    ]);
    const { isConnected, isTestMode, isSandbox } = this.processor;
    return deskModel(
      { q, payments, quarantined, report, isConnected, isTestMode, isSandbox, query: queryOf(request) },
      this.pages.textsFor(request),
    );
  }

  @Action(`${DESK}/payments/:payment/refund`, Access.role('platform_admin'), {
    audit: 'billing.refund-ordered',
  })
  async refund(
    @PathText('payment') publicId: string,
    @Body() { amount = '', reason, token }: RefundForm,
  ): Promise<Done> {
    await this.operators.refund(publicId, amount.trim() === '' ? null : amountOf(amount), { reason, token });
    return this.done('billing.desk.refunded');
  }

  @Action(`${DESK}/adjust`, Access.role('platform_admin'), { audit: 'billing.adjusted' })
  async adjust(@Body() { user_id: person, amount, direction, reason, token }: AdjustForm): Promise<Done> {
    const nano = amountOf(amount) * nanoPerCent;
    if (person === undefined || person === null) throw missingField('user_id');
    const userId = await this.users.numberOf(platformScope, person, { param: 'user_id' });
    const amountOfWallet = direction === 'credit' ? nano : -nano;
    const isBooked = await this.operators.adjust(userId, amountOfWallet, { reason, token });
    return this.done(isBooked ? 'billing.desk.adjusted' : 'billing.desk.repeated');
  }

  @Action(`${DESK}/events/:event/resolve`, Access.role('platform_admin'), { audit: 'billing.event-resolved' })
  async resolve(
    @PathText('event') eventId: string,
    @Body() { reason, how }: ResolveForm,
    @Req() request: HttpRequest,
  ): Promise<Done> {
    await this.inbox.resolve(eventId, how, { reason, userId: actorOf(request).userId });
    return this.done('billing.desk.resolved');
  }

  private done(text: string): Done {
    return done(DESK, { ok: true }, text);
  }
}

function amountOf(text: string): bigint {
  const cents = readCents(text);
  if (cents !== null && cents > 0n && cents <= MOST_CENTS) return cents;
  const msg = 'must be above 0 and at most 1000000 US dollars, with at most two decimals';
  throw validationFault([{ loc: ['body', 'amount'], msg, type: 'amount' }], { message: `amount ${msg}.` });
}
