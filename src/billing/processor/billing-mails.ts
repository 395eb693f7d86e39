import { Injectable } from '@nestjs/common';
import { type BudgetPeriod, type Nano } from '../../kernel';
import { Logger, Mailer, Settings } from '../../platform';
import { defaultViewContext, formatMoney, isLocale, type MailNoticeModel, ViewEngine } from '../../views';
import { BillingAccounts } from './billing-accounts';

export interface MailRecipient {
  readonly email: string;
  readonly name: string;
  readonly language: string;
}

export interface BudgetNotice {
  readonly kind: 'key' | 'project' | 'department' | 'user' | 'user_budget' | 'organisation';
  readonly name: string | null;
  readonly period: BudgetPeriod;
  readonly percent: number;
  readonly spent: Nano;
  readonly limit: Nano;
}

const resetKeyOf = (period: BudgetPeriod): string =>
  period === 'rolling' || period === 'total' ? period : 'calendar';

interface BillingNotice {
  readonly notice:
    'automatic-failed' | 'automatic-off' | 'automatic-ended' | 'ceiling' | 'low-balance' | 'budget';
  readonly values: Readonly<Record<string, string>>;
  readonly path: string;
  /** The queue ignores a second email with the same id. */
  readonly id: string;
}

@Injectable()
export class BillingMails {
  constructor(
    private readonly accounts: BillingAccounts,
    private readonly engine: ViewEngine,
    private readonly mailer: Mailer,
    private readonly settings: Settings,
    private readonly logger: Logger,
  ) {}

  /** Links to a manual top-up, where the owner of the card can confirm it. */
  async automaticTopUpFailed(walletId: number, publicId: string, code: string): Promise<void> {
    const [owner, account] = await Promise.all([
      this.accounts.owner(walletId),
      this.accounts.findOrCreate(walletId),
    ]);
    const amount = Number(account.automatic.amountCents) / 100;
    await this.send(owner, {
      notice: account.automatic.enabled ? 'automatic-failed' : 'automatic-off',
      values: { name: owner.name, code },
      path: `/dashboard/billing?amount=${amount.toFixed(2)}`,
      id: `automatic-failed-${publicId}`,
    });
  }

  /** Reports that another account pays: this account's card is no longer charged. */
  async automaticTopUpEnded(walletId: number): Promise<void> {
    const owner = await this.accounts.owner(walletId);
    await this.send(owner, {
      notice: 'automatic-ended',
      values: { name: owner.name },
      path: '/dashboard/billing',
      id: `automatic-ended-${walletId}`,
    });
  }

  async ceilingReached(walletId: number, now = new Date()): Promise<void> {
    const [owner, { automatic }] = await Promise.all([
      this.accounts.owner(walletId),
      this.accounts.findOrCreate(walletId),
    ]);
    await this.send(owner, {
      notice: 'ceiling',
      values: { name: owner.name, ceiling: this.money(owner, automatic.monthlyCeilingCents * 10_000_000n) },
      path: '/dashboard/billing',
      id: `ceiling-${walletId}-${now.toISOString().slice(0, 7)}`,
    });
  }

  /** Throws if the email cannot be queued; it then counts as not sent. */
  async lowBalance(walletId: number, balance: Nano, at: Date): Promise<void> {
    const owner = await this.accounts.owner(walletId);
    await this.queue(owner, {
      notice: 'low-balance',
      values: { name: owner.name, balance: this.money(owner, balance) },
      path: '/dashboard/billing',
      id: `low-balance-${walletId}-${at.getTime()}`,
    });
  }

  /** Throws if the email cannot be queued; it then counts as not sent. */
  async budget(to: MailRecipient, notice: BudgetNotice, id: string): Promise<void> {
    const translate = this.engine.translator(isLocale(to.language) ? to.language : 'en');
    await this.queue(to, {
      notice: 'budget',
      values: {
        name: to.name,
        what: translate(`billing.budget.${notice.kind}`, { name: notice.name ?? '' }),
        again: translate(`billing.budget-again.${resetKeyOf(notice.period)}`),
        percent: String(notice.percent),
        spent: this.money(to, notice.spent),
        limit: this.money(to, notice.limit),
      },
      path: '/dashboard',
      id,
    });
  }

  private money({ language }: MailRecipient, amount: Nano): string {
    return formatMoney(isLocale(language) ? language : 'en', amount);
  }

  /** The email reports a fact, so a failure of the queue must not undo the fact. */
  private async send(to: MailRecipient, notice: BillingNotice): Promise<void> {
    await this.queue(to, notice).catch((error: unknown) =>
      this.logger.warn('a mail could not be queued', { error, notice: notice.notice }),
    );
  }

  private async queue(to: MailRecipient, { notice, values, path, id }: BillingNotice): Promise<void> {
    const locale = isLocale(to.language) ? to.language : 'en';
    const texts = this.engine.translator(locale);
    const variables = { brand: this.settings.brandName, ...values };
    const heading = texts(`billing.mail.${notice}.heading`, variables);
    const paragraphs = texts(`billing.mail.${notice}.text`, variables).split('\n');
    const href = `${this.settings.baseUrl}${path}`;
    const model: MailNoticeModel = {
      heading,
      paragraphs,
      action: { href, label: texts(`billing.mail.${notice}.action`) },
    };
    const context = defaultViewContext({ locale, baseUrl: this.settings.baseUrl });
    const mail = {
      to: to.email,
      subject: heading.slice(0, 200),
      text: [heading, ...paragraphs, href].join('\n\n'),
      html: this.engine.render('mail/notice', model, context),
      id,
    };
    await this.mailer.send(mail);
  }
}
