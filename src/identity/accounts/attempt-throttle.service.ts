import { createHmac } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { normalizeIp } from '@nestjs/throttler';
import { fault } from '../../kernel';
import { Database, Settings, type Tx } from '../../platform';

/** Subject of an attempt. A known device counts separately, so that attackers cannot use up its attempts. */
export interface ThrottledAttempt {
  readonly purpose: 'sign-in' | 'mail' | 'second-factor';
  readonly account: string;
  readonly address: string;
}

const MAX_WAIT_SECONDS = 900;

/** Counts and refuses in a single statement, so that concurrent attempts get no more tries than sequential ones. */
const countAttempt = `
  INSERT INTO attempt_throttle AS t (key_hash, attempts, last_at) VALUES ($1, 1, clock_timestamp())
  ON CONFLICT (key_hash) DO UPDATE SET
    attempts = CASE WHEN t.last_at < clock_timestamp() - interval '1 hour' THEN 1 ELSE t.attempts + 1 END,
    blocked_until = CASE
      WHEN t.last_at >= clock_timestamp() - interval '1 hour' AND t.attempts + 1 > $2 THEN
        clock_timestamp() + least($3, power(2, least(t.attempts + 1 - $2, 10))) * interval '1 second'
    END,
    last_at = clock_timestamp()
  WHERE t.blocked_until IS NULL OR t.blocked_until <= clock_timestamp()
  RETURNING attempts`;

/** Attempts per hour are free up to a limit; after that, each one makes the next wait longer, up to 15 minutes. */
@Injectable()
export class AttemptThrottle {
  constructor(
    private readonly database: Database,
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
    await this.database.query('DELETE FROM attempt_throttle WHERE key_hash = $1', [account]);
    await this.database.query(
      'UPDATE attempt_throttle SET attempts = greatest(attempts - 1, 0) WHERE key_hash = $1',
      [address],
    );
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
    const rows = await tx.query<object[]>(countAttempt, [key, free, MAX_WAIT_SECONDS]);
    if (rows.length > 0) return;
    const [row] = await tx.query<{ seconds: number }[]>(
      `SELECT ceil(extract(epoch FROM blocked_until - clock_timestamp()))::integer AS seconds
       FROM attempt_throttle WHERE key_hash = $1`,
      [key],
    );
    const retryAfterSeconds = Math.max(1, row?.seconds ?? 1);
    throw fault('rate_limit_exceeded', {
      message: `Too many attempts. Try again in ${retryAfterSeconds} s.`,
      retryAfterSeconds,
      details: { reason: 'attempts' },
    });
  }

  /** Keys use the canonical form of addresses, so that other spellings have no attempts of their own. */
  private async keysOf(
    attempt: ThrottledAttempt,
    reader: Pick<Tx, 'query'> = this.database.source.manager,
  ): Promise<{ account: Buffer; address: Buffer }> {
    const [row] = await reader.query<{ form: string }[]>('SELECT canonical_address($1) AS form', [
      attempt.account,
    ]);
    return {
      account: this.hashOf(attempt, `account:${row?.form ?? attempt.account}`),
      address: this.addressKeyOf(attempt),
    };
  }

  private hashOf({ purpose }: ThrottledAttempt, text: string): Buffer {
    return createHmac('sha256', this.settings.sessionSecret).update(`attempt:${purpose}:${text}`).digest();
  }
}
