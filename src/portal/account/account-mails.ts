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

/** It says why routes that answer the same to everybody write no entry themselves. */
export const laterOnRecord = {
  none: 'whether there is an account is decided, and put on record, after the answer',
} as const;

/** A mail of an account has a key below `mail`, the values of its sentences, and the target of its button. */
export interface AccountNotice {
  readonly notice: string;
  readonly to: string;
  readonly language: string;
  readonly values: Readonly<Record<string, string>>;
  readonly path?: string;
  /** Of two mails with the same id only the first is sent. */
  readonly id?: string;
  /** It is about this account: the link leads to its own portal, never to the one that asked. */
  readonly userId?: number;
}

interface MailJob {
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

  /** Answers as soon as the request is queued, for a known address as for an unknown one. */
  async enqueue(wish: AccountMailKind, email: string, request: HttpRequest, token?: string): Promise<void> {
    const { requestId } = request;
    const address = this.addresses.of(request);
    const data: MailJob = {
      wish,
      email,
      requestId,
      address,
      ...(token !== undefined && { token }),
    };
    await addJob(this.queue, { name: 'account-mail', data, options: { removeOnComplete: true } });
  }

  /** It sends under the name and the address of the account's own portal. */
  async send({ notice, to, language, values, path, id, userId }: AccountNotice): Promise<void> {
    const reseller = userId === undefined ? undefined : await this.resellers.ofAccount(userId);
    const baseUrl = reseller === undefined ? this.settings.baseUrl : this.resellers.originOf(reseller);
    const brand = reseller?.name ?? this.settings.brandName;
    const locale = isLocale(language) ? language : 'en';
    const texts = this.engine.translator(locale);
    const named = { brand, ...values };
    const heading = texts(`mail.${notice}.heading`, named);
    const paragraphs = texts(`mail.${notice}.text`, named).split('\n');
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

  override async process(job: Job<MailJob>): Promise<void> {
    const { wish, email, requestId, address, token: begun } = job.data;
    const request = () => ({ requestId, address, actor: null });
    const mail = await this.activity.during(request, [], () => this.decisions.mailFor(wish, email, begun));
    if (mail === null) return;
    const { notice, userId, to, language, name, token = '' } = mail;
    const path = paths[notice] + token;
    await this.mails.send({ notice, userId, to, language, values: { name }, path });
  }
}
