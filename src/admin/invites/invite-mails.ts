import { Injectable } from '@nestjs/common';
import { ResellerDomains } from '../../identity';
import type { UserRole } from '../../kernel';
import { Mailer, Settings } from '../../platform';
import { defaultViewContext, type Locale, type MailNoticeModel, ViewEngine } from '../../views';

export interface InviteMail {
  readonly to: string;
  readonly inviter: string;
  readonly organisation: string;
  readonly role: UserRole;
  readonly token: string;
  readonly locale: Locale;
}

/**
 * The link appears only in the email: the inviter does not see it, and it is not logged. It leads to the invitee's
 * portal, because the invitee joins the organisation only on acceptance.
 */
@Injectable()
export class InviteMails {
  constructor(
    private readonly engine: ViewEngine,
    private readonly mailer: Mailer,
    private readonly resellers: ResellerDomains,
    private readonly settings: Settings,
  ) {}

  async send({ to, inviter, organisation, role, token, locale }: InviteMail): Promise<void> {
    const reseller = await this.resellers.ofAddress(to);
    const baseUrl = reseller === undefined ? this.settings.baseUrl : this.resellers.originOf(reseller);
    const brand = reseller?.name ?? this.settings.brandName;
    const texts = this.engine.translator(locale);
    const values = {
      inviter,
      organisation,
      brand,
      role: texts(`people.role.${role}`),
    };
    const heading = texts('mail.invite.heading', values);
    const paragraphs = texts('mail.invite.text', values).split('\n');
    const href = `${baseUrl}/invite/${token}`;
    const model: MailNoticeModel = {
      heading,
      paragraphs,
      action: { href, label: texts('mail.invite.action') },
    };
    const context = defaultViewContext({ locale, baseUrl, brand: { name: brand } });
    await this.mailer.send({
      to,
      subject: heading,
      text: [heading, ...paragraphs, href].join('\n\n'),
      html: this.engine.render('mail/notice', model, context),
    });
  }
}
