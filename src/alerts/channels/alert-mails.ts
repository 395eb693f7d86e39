import { Injectable } from '@nestjs/common';
import { ResellerDomains } from '../../identity';
import { Database, Mailer, type TableRow, Settings } from '../../platform';
import { defaultViewContext, isLocale, type MailNoticeModel, ViewEngine } from '../../views';
import { alertKind } from '../catalogue/kinds';
import type { Channel } from './channel';
import { AlertWording, type NotifiableAlert } from './alert-wording';
import type { AlertEvent } from './channel';

const MAX_RECIPIENTS = 1_000;
export const NO_RECIPIENTS = 'nobody gets it: no account has the role, or all who have it muted the topic';

type Recipient = TableRow<'user_account', 'id, email, preferred_language, time_zone'>;

const RECIPIENTS = `
  SELECT u.id, u.email, u.preferred_language, u.time_zone FROM user_account u
    LEFT JOIN user_setting s ON s.user_id = u.id
   WHERE u.status = 'active' AND NOT coalesce($4::text = ANY (s.muted_notices), false)
     AND CASE WHEN $1::integer IS NULL THEN u.role = ANY ($2::text[])
              ELSE u.organisation_id = $1 AND (u.role = ANY ($2::text[])
                OR ($3::integer IS NOT NULL AND u.role = 'department_admin' AND u.department_id = $3)) END
   ORDER BY u.id LIMIT ${MAX_RECIPIENTS}`;

const rolesOf = (isPlatform: boolean, audience: Channel['audience']): string[] => {
  const scope = isPlatform ? 'platform' : 'org';
  return audience === 'owners' ? [`${scope}_owner`] : [`${scope}_owner`, `${scope}_admin`];
};

@Injectable()
export class AlertMails {
  constructor(
    private readonly database: Database,
    private readonly wording: AlertWording,
    private readonly engine: ViewEngine,
    private readonly mailer: Mailer,
    private readonly resellers: ResellerDomains,
    private readonly settings: Settings,
  ) {}

  /** Returns the number of queued emails; the mailer sends only the first of several with the same id. */
  async send(
    { organisationId, audience }: Pick<Channel, 'organisationId' | 'audience'>,
    alert: NotifiableAlert,
    event: AlertEvent | 'test',
    id: string,
  ): Promise<number> {
    const recipients = await this.database.rows<Recipient>(RECIPIENTS, [
      organisationId,
      rolesOf(organisationId === null, audience),
      audience === 'administrators' ? (alert.departmentId ?? null) : null,
      alertKind(alert.kind)?.topic ?? null,
    ]);
    for (const recipient of recipients) await this.sendTo(recipient, alert, event, `${id}-${recipient.id}`);
    return recipients.length;
  }

  private async sendTo(
    { id: userId, email, preferredLanguage, timeZone }: Recipient,
    alert: NotifiableAlert,
    event: AlertEvent | 'test',
    id: string,
  ): Promise<void> {
    const locale = isLocale(preferredLanguage) ? preferredLanguage : 'en';
    const reseller = await this.resellers.ofAccount(userId);
    const baseUrl = reseller === undefined ? this.settings.baseUrl : this.resellers.originOf(reseller);
    const brand = reseller?.name ?? this.settings.brandName;
    const message = this.wording.of(alert, event, { locale, timeZone, baseUrl, brand });
    const paragraphs = [message.text, ...(message.advice === '' ? [] : [message.advice]), message.context];
    const model: MailNoticeModel = {
      heading: message.title,
      paragraphs,
      action: { href: message.url, label: message.linkLabel },
    };
    await this.mailer.send({
      to: email,
      subject: message.title.slice(0, 200),
      text: [message.title, ...paragraphs, message.url].join('\n\n'),
      html: this.engine.render(
        'mail/notice',
        model,
        defaultViewContext({ locale, baseUrl, brand: { name: brand } }),
      ),
      id,
    });
  }
}
