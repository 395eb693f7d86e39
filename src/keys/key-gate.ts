import { Injectable } from '@nestjs/common';
import { normalizeIp } from '@nestjs/throttler';
import { Fault, fault, MINUTE_MS } from '../kernel';
import { Settings } from '../platform';
import type { Caller } from './caller';
import { KeyDirectory } from './key-directory';
import { RateStorage } from './rate/rate-storage';

/**
 * The gate authenticates by key. An address that repeatedly sends wrong keys is slowed down; a valid key
 * still passes, because addresses are shared.
 */
@Injectable()
export class KeyGate {
  constructor(
    private readonly directory: KeyDirectory,
    private readonly storage: RateStorage,
    private readonly settings: Settings,
  ) {}

  /** The address is asked for only after a failure. */
  admit(text: string, addressOf: () => string, connection?: object): Caller | Promise<Caller> {
    try {
      const found = this.directory.authenticate(text, connection);
      return found instanceof Promise
        ? found.catch((error: unknown) => this.count(error, addressOf()))
        : found;
    } catch (error) {
      return this.count(error, addressOf());
    }
  }

  private async count(error: unknown, address: string): Promise<never> {
    if (!(error instanceof Fault) || error.status !== 401) throw error;
    const { isBlocked, timeToBlockExpire } = await this.storage.increment(
      normalizeIp(address),
      MINUTE_MS,
      this.settings.keyFailuresPerMinute,
      0,
      'key-failures',
    );
    if (!isBlocked) throw error;
    // Clients repeat a 429 with the same key; a 401 stays what it is.
    throw fault(error.code, {
      ...error.options,
      message: 'Too many wrong API keys came from this address. Check the key before trying again.',
      retryAfterSeconds: timeToBlockExpire,
    });
  }
}
