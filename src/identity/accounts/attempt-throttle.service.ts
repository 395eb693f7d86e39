import { createHmac } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { normalizeIp } from '@nestjs/throttler';
import type { Repository } from 'typeorm';
import { fault } from '../../kernel';
import { Database, Settings, type Tx } from '../../platform';
import { AttemptCount } from './attempt-throttle.entity';
import { countAttempt, readWaitSeconds } from './attempt-throttle.store';
import { readCanonicalAddress } from './user-account.query';

/** Subject of an attempt. A known device counts separately, so that attackers cannot use up its attempts. */
export interface ThrottledAttempt {
  readonly purpose: 'sign-in' | 'mail' | 'second-factor';
  readonly account: string;
  readonly address: string;
}

/** Attempts per hour are free up to a limit; after that, each one makes the next wait longer, up to 15 minutes. */
@Injectable()
export class AttemptThrottle {
  constructor(
    private readonly database: Database,
    @InjectRepository(AttemptCount) private readonly attempts: Repository<AttemptCount>,
    private readonly settings: Settings,
  ) {}

  /** Counts the attempt before its outcome is known, or refuses it with the time to wait. */
  async take(attempt: ThrottledAttempt): Promise<void> {
    await this.database.transaction((tx) => this.takeWithin(tx, attempt), {
      attempts: 5,
      withoutActivity: 'attempts are counted before anything is done',
    });
  }

  /** Resets the attempts of the account, but takes back only this attempt for the address. */
  async recordSuccess(attempt: ThrottledAttempt): Promise<void> {
    const { account, address } = await this.keysOf(attempt);
    await this.attempts.delete({ keyHash: account });
    await this.attempts.update({ keyHash: address }, { attempts: () => 'greatest(attempts - 1, 0)' });
  }

  addressKeyOf(attempt: ThrottledAttempt): Buffer {
    return this.hashOf(attempt, `address:${normalizeIp(attempt.address)}`);
  }

  private async takeWithin(tx: Tx, attempt: ThrottledAttempt): Promise<void> {
    const { account, address } = await this.keysOf(attempt, tx);
    await this.count(tx, account, this.settings.accountFreeAttempts);
    await this.count(tx, address, this.settings.addressFreeAttempts);
  }

  private async count(tx: Tx, key: Buffer, free: number): Promise<void> {
    if (await countAttempt(tx, key, free)) return;
    const retryAfterSeconds = await readWaitSeconds(tx, key);
    throw fault('rate_limit_exceeded', {
      message: `Too many attempts. Try again in ${retryAfterSeconds} s.`,
      retryAfterSeconds,
      details: { reason: 'attempts' },
    });
  }

  /** Keys use the canonical form of addresses, so that other spellings have no attempts of their own. */
  private async keysOf(
    attempt: ThrottledAttempt,
    reader: Pick<Tx, 'query'> = this.database.source,
  ): Promise<{ account: Buffer; address: Buffer }> {
    const form = await readCanonicalAddress(reader, attempt.account);
    return {
      account: this.hashOf(attempt, `account:${form}`),
      address: this.addressKeyOf(attempt),
    };
  }

  private hashOf({ purpose }: ThrottledAttempt, text: string): Buffer {
    return createHmac('sha256', this.settings.sessionSecret).update(`attempt:${purpose}:${text}`).digest();
  }
}
