import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Raw, type Repository } from 'typeorm';
import { RepeatingJob } from '../../platform';
import { Session } from '../session.entity';
import { AccountToken } from './account-token.entity';
import { AttemptCount } from './attempt-throttle.entity';

/** Removes expired rows; validity never depends on this job. */
@Injectable()
export class AccountCleanup {
  constructor(
    @InjectRepository(AccountToken) private readonly tokens: Repository<AccountToken>,
    @InjectRepository(AttemptCount) private readonly attempts: Repository<AttemptCount>,
    @InjectRepository(Session) private readonly sessions: Repository<Session>,
  ) {}

  @RepeatingJob({ name: 'accounts', cron: '35 * * * *' })
  async removeExpired(): Promise<void> {
    await this.tokens.delete({ expiresAt: Raw((column) => `${column} < now()`) });
    await this.attempts.delete({ lastAt: Raw((column) => `${column} < now() - interval '1 day'`) });
    await this.sessions.delete({ expiresAt: Raw((column) => `${column} < now()`) });
  }
}
