import { Injectable } from '@nestjs/common';
import { type Changes, changesOf } from '../../audit';
import {
  type ActorContext,
  PendingSteps,
  resetSecondFactor,
  ResellerDomains,
  type EditTarget,
  UserEditor,
} from '../../identity';
import { Mailer, Settings } from '../../platform';
import { defaultViewContext, isLocale, type MailNoticeModel, ViewEngine } from '../../views';

interface ResetUser {
  readonly id: number;
  readonly email: string;
  readonly displayName: string;
  readonly preferredLanguage: string;
}

@Injectable()
export class SecondFactorResets {
  constructor(
    private readonly editor: UserEditor,
    private readonly pending: PendingSteps,
    private readonly engine: ViewEngine,
    private readonly mailer: Mailer,
    private readonly resellers: ResellerDomains,
    private readonly settings: Settings,
  ) {}

  async reset(acting: ActorContext, target: EditTarget): Promise<Changes> {
    const kind = { act: 'second-factor-reset', action: 'user.second-factor-reset' } as const;
    let userToNotify: ResetUser | null = null;
    const changes = await this.editor.change(acting, target, kind, async (tx, user) => {
      if (!(await resetSecondFactor(tx, user.id, this.pending))) return {};
      userToNotify = user;
      return changesOf({ second_factor: true }, { second_factor: false });
    });
    const { displayName, email } = acting.actor;
    if (userToNotify !== null) await this.notify(userToNotify, displayName === '' ? email : displayName);
    return changes;
  }

  private async notify(
    { id, email, displayName: name, preferredLanguage }: ResetUser,
    administrator: string,
  ): Promise<void> {
    const reseller = await this.resellers.ofAccount(id);
    const baseUrl = reseller === undefined ? this.settings.baseUrl : this.resellers.originOf(reseller);
    const brand = reseller?.name ?? this.settings.brandName;
    const locale = isLocale(preferredLanguage) ? preferredLanguage : 'en';
    const texts = this.engine.translator(locale);
    const values = { name, administrator, brand };
    const heading = texts('mail.second-factor-reset.heading', values);
    const paragraphs = texts('mail.second-factor-reset.text', values).split('\n');
    const href = `${baseUrl}/dashboard/settings/second-factor`;
    const model: MailNoticeModel = {
      heading,
      paragraphs,
      action: { href, label: texts('mail.second-factor-reset.action') },
    };
    const context = defaultViewContext({ locale, baseUrl, brand: { name: brand } });
    await this.mailer.send({
      to: email,
      subject: heading,
      text: [heading, ...paragraphs, href].join('\n\n'),
      html: this.engine.render('mail/notice', model, context),
    });
  }
}
