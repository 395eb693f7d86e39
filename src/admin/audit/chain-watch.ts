import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { breakText, type ChainBreak, ChainBreaks } from '../../audit';
import { UserAccount } from '../../identity';
import { Database, Mailer, RepeatingJob, Settings } from '../../platform';
import { defaultViewContext, isLocale, type MailNoticeModel, ViewEngine } from '../../views';

const MAX_LISTED_BREAKS = 20;
const PATH = '/dashboard/admin/audit';

/** Emails the platform's owners about breaks in the audit chain, once per break. */
@Injectable()
export class ChainWatch {
  constructor(
    private readonly database: Database,
    @InjectRepository(UserAccount) private readonly accounts: Repository<UserAccount>,
    private readonly breaks: ChainBreaks,
    private readonly mailer: Mailer,
    private readonly engine: ViewEngine,
    private readonly settings: Settings,
  ) {}

  /** Mails are queued before the breaks are marked as mailed; the queue ignores a second mail with the same id. */
  @RepeatingJob({ name: 'audit-breaks', cron: '3-59/5 * * * *' })
  async notify(): Promise<void> {
    const owner = { role: 'platform_owner', status: 'active' } as const;
    const owners = await this.accounts.find({ where: owner, order: { id: 'ASC' } });
    if (owners.length === 0) return;
    await this.database.transaction(
      async (tx) => {
        const newBreaks = await this.breaks.takeUnmailed(tx);
        if (newBreaks.length > 0) for (const account of owners) await this.mail(account, newBreaks);
      },
      { withoutActivity: 'what was found is on record already' },
    );
  }

  private async mail(
    { id, email, displayName: name, preferredLanguage: language }: UserAccount,
    newBreaks: readonly ChainBreak[],
  ): Promise<void> {
    const locale = isLocale(language) ? language : 'en';
    const { baseUrl, brandName: brand } = this.settings;
    const texts = this.engine.translator(locale);
    const listedBreaks = newBreaks
      .slice(0, MAX_LISTED_BREAKS)
      .map((each) => `${each.chain}: ${breakText(each)}`);
    const more = newBreaks.length - listedBreaks.length;
    const lines = more > 0 ? [...listedBreaks, texts('audit.mail.more', { places: more })] : listedBreaks;
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
      id: `audit-break-${newBreaks.at(-1)?.id}-${id}`,
    });
  }
}
