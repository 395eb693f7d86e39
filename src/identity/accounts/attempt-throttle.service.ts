import { createHmac } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { normalizeIp } from '@nestjs/throttler';
import { fault } from '../../kernel';
import { Database, Settings, type Tx } from '../../platform';

/** The subject of an attempt. A known device counts separately, so that attackers cannot use up its attempts. */
export interface Attempt {
  readonly purpose: 'sign-in' | 'mail' | 'second-factor';
  readonly account: string;
  readonly address: string;
}

const LONGEST_WAIT_SECONDS = 900;

/** One statement counts and refuses: of a hundred attempts at once no more get through than one after another. */
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

/** Attempts in an hour are free up to a number; after it each one makes the next wait longer, up to 15 minutes. */
@Injectable()
export class AttemptThrottle {
  constructor(
    private readonly database: Database,
    private readonly settings: Settings,
  ) {}

  /** Counts the attempt before its outcome is known, or refuses it with the time to wait. */
  async take(attempt: Attempt): Promise<void> {
    await this.database.transaction((tx) => this.takeWithin(tx, attempt), {
      attempts: 5,
      withoutActivity: 'attempts are counted before anything is done',
    });
  }

  /** Resets the account's attempts; of the address only this one is taken back. */
  async succeeded(attempt: Attempt): Promise<void> {
    const { account, address } = await this.keysOf(attempt);
    await this.database.query('DELETE FROM attempt_throttle WHERE key_hash = $1', [account]);
    await this.database.query(
      'UPDATE attempt_throttle SET attempts = greatest(attempts - 1, 0) WHERE key_hash = $1',
      [address],
    );
  }

  /** Names the row of the address, which exists once an attempt was taken. */
  addressKeyOf(attempt: Attempt): Buffer {
    return this.hashOf(attempt, `address:${normalizeIp(attempt.address)}`);
  }

  private async takeWithin(tx: Tx, attempt: Attempt): Promise<void> {
    const { account, address } = await this.keysOf(attempt, tx);
    await this.count(tx, account, this.settings.accountFreeAttempts);
    await this.count(tx, address, this.settings.addressFreeAttempts);
  }

  private async count(tx: Tx, key: Buffer, free: number): Promise<void> {
    const counted = await tx.query<object[]>(countAttempt, [key, free, LONGEST_WAIT_SECONDS]);
    if (counted.length > 0) return;
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

  /** Keys go by the form by which accounts are found: no other spelling of an address has attempts of its own. */
  private async keysOf(
    attempt: Attempt,
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

  private hashOf({ purpose }: Attempt, text: string): Buffer {
    return createHmac('sha256', this.settings.sessionSecret).update(`attempt:${purpose}:${text}`).digest();
  }
}
