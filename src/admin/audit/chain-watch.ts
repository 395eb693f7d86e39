import { Injectable } from '@nestjs/common';
import { breakText, type ChainBreak, ChainBreaks } from '../../audit';
import { Database, Mailer, RepeatingJob, type Row, Settings } from '../../platform';
import { defaultViewContext, isLocale, type MailNoticeModel, ViewEngine } from '../../views';

type Owner = Row<'user_account', 'id, email'> & Readonly<Record<'name' | 'language', string>>;

const MOST_LISTED = 20;
const PATH = '/dashboard/admin/audit';

/** Mails the platform's owners about breaks in the audit chain, once for each break. */
@Injectable()
export class ChainWatch {
  constructor(
    private readonly database: Database,
    private readonly breaks: ChainBreaks,
    private readonly mailer: Mailer,
    private readonly engine: ViewEngine,
    private readonly settings: Settings,
  ) {}

  /**
   * The mails are queued before the breaks are marked as reported; the queue ignores a second mail with the same id.
   */
  @RepeatingJob({ name: 'audit-breaks', cron: '3-59/5 * * * *' })
  async notify(): Promise<void> {
    const owners = await this.database.query<Owner>(
      `SELECT id, email, display_name AS name, preferred_language AS language FROM user_account
        WHERE role = 'platform_owner' AND status = 'active' ORDER BY id`,
    );
    if (owners.length === 0) return;
    await this.database.transaction(
      async (tx) => {
        const found = await this.breaks.takeUnmailed(tx);
        if (found.length > 0) for (const owner of owners) await this.mail(owner, found);
      },
      { withoutActivity: 'what was found is on record already' },
    );
  }

  private async mail({ id, email, name, language }: Owner, found: readonly ChainBreak[]): Promise<void> {
    const locale = isLocale(language) ? language : 'en';
    const { baseUrl, brandName: brand } = this.settings;
    const texts = this.engine.translator(locale);
    const shown = found.slice(0, MOST_LISTED).map((each) => `${each.chain}: ${breakText(each)}`);
    const more = found.length - shown.length;
    const lines = more > 0 ? [...shown, texts('audit.mail.more', { places: more })] : shown;
    const heading = texts('audit.mail.subject', { brand });
    const paragraphs = texts('audit.mail.text', { name, found: lines.join('\n') }).split('\n');
    const href = `${baseUrl}${PATH}`;
    const model: MailNoticeModel = {
      heading,
      paragraphs,
      action: { href, label: texts('audit.mail.action') },
    };
    await this.mailer.send({
      to: email,
      subject: heading.slice(0, 200),
      text: [heading, ...paragraphs, href].join('\n\n'),
      html: this.engine.render('mail/notice', model, defaultViewContext({ locale, baseUrl })),
      id: `audit-break-${found.at(-1)?.id}-${id}`,
    });
  }
}
