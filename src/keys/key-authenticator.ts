import { Injectable } from '@nestjs/common';
import { normalizeIp } from '@nestjs/throttler';
import { Fault, fault, type MaybePromise, MINUTE_MS } from '../kernel';
import { Settings } from '../platform';
import type { Caller } from './caller';
import { KeyDirectory } from './key-directory';
import { RateStorage } from './rate/rate-storage';

/**
 * Authenticates requests by key. An address that repeatedly sends wrong keys is slowed down; a valid key still passes,
 * because addresses are shared.
 */
@Injectable()
export class KeyAuthenticator {
  constructor(
    private readonly directory: KeyDirectory,
    private readonly storage: RateStorage,
    private readonly settings: Settings,
  ) {}

  /** Calls `addressOf` only after a failure. */
  admit(text: string, addressOf: () => string, connection?: object): MaybePromise<Caller> {
    try {
      const caller = this.directory.authenticate(text, connection);
      return caller instanceof Promise
        ? caller.catch((error: unknown) => this.countFailure(error, addressOf()))
        : caller;
    } catch (error) {
      return this.countFailure(error, addressOf());
    }
  }

  private async countFailure(error: unknown, address: string): Promise<never> {
    if (!(error instanceof Fault) || error.status !== 401) throw error;
    const { isBlocked, timeToBlockExpire } = await this.storage.increment(
      normalizeIp(address),
      MINUTE_MS,
      this.settings.keyFailuresPerMinute,
      0,
      'key-failures',
    );
    if (!isBlocked) throw error;
    // Clients would retry a 429 with the same key, so the status stays 401.
    throw fault(error.code, {
      ...error.options,
      message: 'Too many wrong API keys came from this address. Check the key before trying again.',
      retryAfterSeconds: timeToBlockExpire,
    });
  }
}
