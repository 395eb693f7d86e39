import { Controller, Req } from '@nestjs/common';
import { ActivityLog } from '../../audit';
import { actorOf, UserAccount } from '../../identity';
import type { Actor } from '../../kernel';
import { Database } from '../../platform';
import { Access, Action, Data, type HttpRequest } from '../../web';
import { LegalLibrary } from '../public/legal/legal-library';

/** Which version of the terms a person has accepted, and the acceptance of the one in force. */
@Controller('/api/legal')
export class LegalAcceptanceController {
  constructor(
    private readonly database: Database,
    private readonly legal: LegalLibrary,
    private readonly activity: ActivityLog,
  ) {}

  @Data('status', Access.session())
  async status(@Req() request: HttpRequest): Promise<object> {
    const { userId } = request.actor as Actor;
    const version = this.legal.currentTerms;
    const [row] = await this.database.query<{ accepted_at: Date }>(
      'SELECT accepted_at FROM legal_acceptance WHERE user_id = $1 AND version = $2',
      [userId, version],
    );
    return { accepted: row !== undefined, version, accepted_at: row?.accepted_at.toISOString() ?? null };
  }

  /** Said twice it is kept once. */
  @Action('accept', Access.session(), { audit: 'account.terms-accepted' })
  async accept(@Req() request: HttpRequest): Promise<object> {
    const { userId } = request.actor as Actor;
    const version = this.legal.currentTerms;
    await this.database.transaction(async (tx) => {
      const made = await tx.query<object[]>(
        'INSERT INTO legal_acceptance (user_id, version) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING version',
        [userId, version],
      );
      if (made.length === 0) return this.activity.nothingChanged();
      const account = await tx.getRepository(UserAccount).findOneByOrFail({ id: userId });
      const object = { type: 'account', id: userId, label: version } as const;
      await this.activity.write(tx, { action: 'account.terms-accepted', object, actor: actorOf(account) });
    });
    return { ok: true, accepted: true, version };
  }
}
