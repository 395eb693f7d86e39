import { createHmac, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Not } from 'typeorm';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel';
import { Settings, type Tx } from '../../platform';
import { AccountToken } from './account-token.entity';
import { findToken, type SpentToken, spendToken } from './account-token.store';

const lifetimes = {
  verify_email: DAY_MS,
  reset_password: HOUR_MS,
  sign_in_link: DAY_MS,
  provider_state: 10 * MINUTE_MS,
  handoff_consent: 10 * MINUTE_MS,
  handoff: MINUTE_MS,
  second_factor: 10 * MINUTE_MS,
  passkey_enrolment: 5 * MINUTE_MS,
  passkey_sign_in: 5 * MINUTE_MS,
  change_address: DAY_MS,
  undo_address: DAY_MS,
} as const;

export type TokenPurpose = keyof typeof lifetimes;

export interface NewToken {
  readonly userId: number | null;
  readonly data?: object;
}

export interface GeneratedToken {
  readonly text: string;
  readonly tokenHash: Buffer;
  readonly expiresAt: Date;
}

const TOKEN_FORMAT = /^[\w-]{43}$/;

@Injectable()
export class AccountTokens {
  constructor(private readonly settings: Settings) {}

  /** Returns the token's text; only its hash is stored. */
  async issue(tx: Tx, purpose: TokenPurpose, { userId, data = {} }: NewToken): Promise<string> {
    const { text, tokenHash, expiresAt } = this.generate(purpose);
    await tx.getRepository(AccountToken).insert({ tokenHash, purpose, userId, data, expiresAt });
    return text;
  }

  generate(purpose: TokenPurpose): GeneratedToken {
    const text = randomBytes(32).toString('base64url');
    const expiresAt = new Date(Date.now() + lifetimes[purpose]);
    return { text, tokenHash: this.hashOf(purpose, text), expiresAt };
  }

  /** Only one of two requests with the same token succeeds. */
  async spend(tx: Tx, purpose: TokenPurpose, text: string): Promise<SpentToken | null> {
    if (!TOKEN_FORMAT.test(text)) return null;
    return spendToken(tx, { tokenHash: this.hashOf(purpose, text), purpose });
  }

  async peek(tx: Tx, purpose: TokenPurpose, text: string): Promise<SpentToken | null> {
    if (!TOKEN_FORMAT.test(text)) return null;
    return findToken(tx, { tokenHash: this.hashOf(purpose, text), purpose });
  }

  async revokeAll(tx: Tx, purpose: TokenPurpose, userId: number): Promise<void> {
    await tx.getRepository(AccountToken).delete({ purpose, userId });
  }

  /** Keeps the token that undoes a change of address, because it is the way back for the former owner. */
  async revokePending(tx: Tx, userId: number): Promise<void> {
    await tx.getRepository(AccountToken).delete({ userId, purpose: Not('undo_address') });
  }

  private hashOf(purpose: TokenPurpose, text: string): Buffer {
    return createHmac('sha256', this.settings.sessionSecret).update(`${purpose}:${text}`).digest();
  }
}
