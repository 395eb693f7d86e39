import { Body, Controller, type OnModuleInit, Req } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { ActivityLog } from '../../audit';
import { actorOf, LegalAcceptance, UserAccount } from '../../identity';
import type { Actor } from '../../kernel';
import { Database } from '../../platform';
import {
  Access,
  Action,
  Data,
  done,
  type ActionResult,
  type HttpRequest,
  localPath,
  PageFrames,
} from '../../web';
import { LegalLibrary } from '../public/legal/legal-library';
import { AcceptanceForm } from './legal-acceptance.dto';

/** Reports which terms a user accepted, and records acceptance of the current ones. */
@Controller('/api/legal')
export class LegalAcceptanceController implements OnModuleInit {
  constructor(
    private readonly database: Database,
    @InjectRepository(LegalAcceptance) private readonly acceptances: Repository<LegalAcceptance>,
    private readonly legal: LegalLibrary,
    private readonly activity: ActivityLog,
    private readonly frames: PageFrames,
  ) {}

  onModuleInit(): void {
    this.frames.setTermsSource((userId) => this.findPendingTerms(userId));
  }

  @Data('status', Access.session())
  async status(@Req() request: HttpRequest) {
    const { userId } = request.actor as Actor;
    const version = this.legal.currentTerms;
    const acceptance = await this.acceptances.findOneBy({ userId, version });
    const acceptedAt = acceptance?.acceptedAt.toISOString() ?? null;
    return { accepted: acceptance !== null, version, accepted_at: acceptedAt };
  }

  /** Pages ask only users who accepted an earlier version; those who never accepted any are not asked. */
  private async findPendingTerms(userId: number): Promise<string | null> {
    const version = this.legal.currentTerms;
    const acceptances = await this.acceptances.findBy({ userId });
    const isPending = acceptances.length > 0 && acceptances.every((each) => each.version !== version);
    return isPending ? version : null;
  }

  /** Idempotent: a repeated acceptance is recorded once. */
  @Action('accept', Access.session(), { audit: 'account.terms-accepted' })
  async accept(@Body() form: AcceptanceForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const { userId } = request.actor as Actor;
    const version = this.legal.currentTerms;
    await this.database.transaction(async (tx) => {
      const insert = tx.getRepository(LegalAcceptance).createQueryBuilder().insert();
      const result = await insert.values({ userId, version }).orIgnore().execute();
      if ((result.raw as object[]).length === 0) return this.activity.reportNoChange();
      const account = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
      const object = { type: 'account', id: userId, label: version } as const;
      await this.activity.write(tx, { action: 'account.terms-accepted', object, actor: actorOf(account) });
    });
    return done(localPath(form.next), { ok: true, accepted: true, version }, 'legal.accepted');
  }
}
