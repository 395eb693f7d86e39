import { Injectable } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { type AccountMail, AccountMailService, type AccountMailKind, ResellerDomains } from '../../identity';
import {
  addJob,
  InjectQueue,
  type Job,
  Mailer,
  Processor,
  type Queue,
  Settings,
  WorkerHost,
} from '../../platform';
import { defaultViewContext, isLocale, type MailNoticeModel, ViewEngine } from '../../views';
import { ClientAddress, type HttpRequest } from '../../web';

export const accountMailQueue = 'account-mail';

/** Reason why routes with a uniform response write no activity entry themselves. */
export const deferredAudit = {
  none: 'whether there is an account is decided, and put on record, after the answer',
} as const;

/** An account email: its key below `mail`, the values of its texts, and the target of its button. */
export interface AccountNotice {
  readonly notice: string;
  readonly to: string;
  readonly language: string;
  readonly values: Readonly<Record<string, string>>;
  readonly path?: string;
  /** Deduplicates: of two emails with the same id, only the first is sent. */
  readonly id?: string;
  /** The account concerned. Links lead to that account's portal, not to the one that made the request. */
  readonly userId?: number;
}

interface AccountMailJob {
  readonly wish: AccountMailKind;
  readonly email: string;
  readonly requestId: string;
  readonly address: string;
  readonly token?: string;
}

const paths: Readonly<Record<AccountMail['notice'], string>> = {
  verify: '/verify-email?token=',
  'registered-already': '/login',
  reset: '/reset-password?token=',
  'reset-by-provider': '/login',
};

@Injectable()
export class AccountMails {
  constructor(
    @InjectQueue(accountMailQueue) private readonly queue: Queue,
    private readonly engine: ViewEngine,
    private readonly mailer: Mailer,
    private readonly addresses: ClientAddress,
    private readonly resellers: ResellerDomains,
    private readonly settings: Settings,
  ) {}

  /** Returns as soon as the job is queued, so that timing does not reveal whether the address has an account. */
  async enqueue(kind: AccountMailKind, email: string, request: HttpRequest, token?: string): Promise<void> {
    const { requestId } = request;
    const address = this.addresses.of(request);
    const data: AccountMailJob = {
      wish: kind,
      email,
      requestId,
      address,
      ...(token !== undefined && { token }),
    };
    await addJob(this.queue, { name: 'account-mail', data, options: { removeOnComplete: true } });
  }

  /** Sends under the name and base URL of the account's own portal. */
  async send({ notice, to, language, values, path, id, userId }: AccountNotice): Promise<void> {
    const reseller = userId === undefined ? undefined : await this.resellers.ofAccount(userId);
    const baseUrl = reseller === undefined ? this.settings.baseUrl : this.resellers.originOf(reseller);
    const brand = reseller?.name ?? this.settings.brandName;
    const locale = isLocale(language) ? language : 'en';
    const texts = this.engine.translator(locale);
    const placeholders = { brand, ...values };
    const heading = texts(`mail.${notice}.heading`, placeholders);
    const paragraphs = texts(`mail.${notice}.text`, placeholders).split('\n');
    const href = path === undefined ? undefined : baseUrl + path;
    const model: MailNoticeModel = {
      heading,
      paragraphs,
      ...(href !== undefined && { action: { href, label: texts(`mail.${notice}.action`) } }),
    };
    const context = defaultViewContext({ locale, baseUrl, brand: { name: brand } });
    await this.mailer.send({
      to,
      subject: heading,
      text: [heading, ...paragraphs, ...(href === undefined ? [] : [href])].join('\n\n'),
      html: this.engine.render('mail/notice', model, context),
      ...(id !== undefined && { id }),
    });
  }
}

@Processor(accountMailQueue)
export class AccountMailWorker extends WorkerHost {
  constructor(
    private readonly decisions: AccountMailService,
    private readonly activity: ActivityLog,
    private readonly mails: AccountMails,
  ) {
    super();
  }

  override async process(job: Job<AccountMailJob>): Promise<void> {
    const { wish, email, requestId, address, token: issuedToken } = job.data;
    const request = () => ({ requestId, address, actor: null });
    const mail = await this.activity.runAudited(request, [], () =>
      this.decisions.mailFor(wish, email, issuedToken),
    );
    if (mail === null) return;
    const { notice, userId, to, language, name, token = '' } = mail;
    const path = paths[notice] + token;
    await this.mails.send({ notice, userId, to, language, values: { name }, path });
  }
}
