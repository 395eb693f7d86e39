import { Body, Controller, type OnModuleInit, Req } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { actorOf, UserAccount } from '../../identity';
import type { Actor } from '../../kernel';
import { Database, type TableRow } from '../../platform';
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
    const [row] = await this.database.rows<TableRow<'legal_acceptance', 'accepted_at'>>(
      'SELECT accepted_at FROM legal_acceptance WHERE user_id = $1 AND version = $2',
      [userId, version],
    );
    return { accepted: row !== undefined, version, accepted_at: row?.acceptedAt.toISOString() ?? null };
  }

  /** Pages ask only users who accepted an earlier version; those who never accepted any are not asked. */
  private async findPendingTerms(userId: number): Promise<string | null> {
    const version = this.legal.currentTerms;
    const [row] = await this.database.query<{ is_waiting: boolean }>(
      'SELECT count(*) > 0 AND NOT coalesce(bool_or(version = $2), false) AS is_waiting FROM legal_acceptance WHERE user_id = $1',
      [userId, version],
    );
    return row?.is_waiting === true ? version : null;
  }

  /** Idempotent: a repeated acceptance is recorded once. */
  @Action('accept', Access.session(), { audit: 'account.terms-accepted' })
  async accept(@Body() form: AcceptanceForm, @Req() request: HttpRequest): Promise<ActionResult> {
    const { userId } = request.actor as Actor;
    const version = this.legal.currentTerms;
    await this.database.transaction(async (tx) => {
      const inserted = await tx.query<object[]>(
        'INSERT INTO legal_acceptance (user_id, version) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING version',
        [userId, version],
      );
      if (inserted.length === 0) return this.activity.reportNoChange();
      const account = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
      const object = { type: 'account', id: userId, label: version } as const;
      await this.activity.write(tx, { action: 'account.terms-accepted', object, actor: actorOf(account) });
    });
    return done(localPath(form.next), { ok: true, accepted: true, version }, 'legal.accepted');
  }
}
