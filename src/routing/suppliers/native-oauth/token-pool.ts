import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import {
  type CredentialHealth,
  CredentialStore,
  type PooledToken,
  type ProviderView,
  type TokenCredential,
  type TokenEvent,
  TokenEvents,
} from '../../../catalogue';
import { fault, type Fault, HOUR_MS, MINUTE_MS, monotonicMs } from '../../../kernel';
import { SupplierTransport } from '../../../platform';
import { renewToken } from './renewal';

/** A token this close to its end is renewed before it is used; one a little farther is used and renewed meanwhile. */
const URGENT_MS = MINUTE_MS;
const EARLY_MS = 5 * MINUTE_MS;
const USUAL_REST_MS = 30_000;
const REJECTED_REST_MS = MINUTE_MS;
const LONGEST_REST_MS = HOUR_MS;
/** One node may take so long to renew before another tries. */
const RENEWAL_LEASE_S = 30;
const FOREIGN_RENEWAL_MS = 15_000;
const RETRY_MS = 200;

interface Watched {
  inFlight: number;
  usedAt: number;
  restUntil: number;
  health: CredentialHealth;
  /** Stands in for this access token of the catalogue's copy, until that brings another. */
  renewed: { readonly from: string; readonly token: TokenCredential } | undefined;
  renewing: Promise<TokenCredential | Fault> | undefined;
}

/** A token in use: its holder says how the call went. */
export interface TokenLease {
  readonly token: TokenCredential;
  answered(status: number, retryAfterSeconds: number | null): void;
  /** The call is over. */
  release(): void;
}

/** A pool of tokens: the least used healthy one is taken, and each is renewed before it expires. */
@Injectable()
export class TokenPool implements OnApplicationShutdown {
  private readonly logger = new Logger(TokenPool.name);
  private readonly watched = new Map<string, Watched>();
  /** Events are written one after the other, so that they stand in the order in which they happened. */
  private written: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: CredentialStore,
    private readonly events: TokenEvents,
    private readonly transport: SupplierTransport,
  ) {}

  /** Throws when no token of the provider can be used now. */
  async take(provider: ProviderView): Promise<TokenLease> {
    const tokens = this.store.at(provider).pool;
    if (tokens.length === 0) throw fault('configuration_error', { details: { provider: provider.name } });
    const left = new Set(tokens);
    for (let pooled = this.choose(left); pooled !== undefined; pooled = this.choose(left)) {
      left.delete(pooled);
      // The token is counted while it may be renewed: a call meanwhile takes another one.
      const release = this.use(pooled);
      const token = await this.fresh(pooled);
      if (token !== undefined) return this.leaseOf(pooled, token, release);
      release();
    }
    throw this.nothingLeft(tokens);
  }

  /** Some token of the provider may be taken now. */
  hasReady(provider: ProviderView): boolean {
    return this.choose(new Set(this.store.at(provider).pool)) !== undefined;
  }

  /** Writes under way end before the database closes. */
  async onApplicationShutdown(): Promise<void> {
    await this.written;
  }

  /** The one with the fewest calls under way; among equals the one that waited longest. */
  private choose(tokens: ReadonlySet<PooledToken>): PooledToken | undefined {
    const now = monotonicMs();
    let best: PooledToken | undefined;
    for (const pooled of tokens) {
      const state = this.of(pooled);
      if (state.restUntil > now) continue;
      const other = best && this.of(best);
      const isBetter =
        other === undefined ||
        state.inFlight < other.inFlight ||
        (state.inFlight === other.inFlight && state.usedAt < other.usedAt);
      if (isBetter) best = pooled;
    }
    return best;
  }

  private async fresh(pooled: PooledToken): Promise<TokenCredential | undefined> {
    const state = this.of(pooled);
    const token = newest(pooled.token, state);
    const leftMs = token.expiresAt === undefined ? Infinity : token.expiresAt - Date.now();
    if (leftMs > EARLY_MS) return token;
    if (token.refreshToken === undefined) return leftMs > 0 ? token : this.rest(pooled, REJECTED_REST_MS);
    const renewal = this.renew(pooled);
    if (leftMs > URGENT_MS) return token;
    const renewed = await renewal;
    return 'accessToken' in renewed ? renewed : undefined;
  }

  /** Answers how to end it, which counts once. */
  private use(pooled: PooledToken): () => void {
    const state = this.of(pooled);
    state.inFlight += 1;
    state.usedAt = monotonicMs();
    let released = false;
    return () => {
      if (!released) state.inFlight -= 1;
      released = true;
    };
  }

  private leaseOf(pooled: PooledToken, token: TokenCredential, release: () => void): TokenLease {
    const answered: TokenLease['answered'] = (status, seconds) => this.answered(pooled, status, seconds);
    return { token, answered, release };
  }

  private answered(pooled: PooledToken, status: number, retryAfterSeconds: number | null): void {
    const state = this.of(pooled);
    if (status === 429) {
      const restMs = Math.min((retryAfterSeconds ?? USUAL_REST_MS / 1_000) * 1_000, LONGEST_REST_MS);
      this.rest(pooled, restMs);
      this.note(pooled, 'limited', {
        kind: 'limited',
        source: 'call',
        errorKind: '429',
        detail: `rests ${restMs} ms`,
      });
    } else if (status === 401) {
      this.rest(pooled, REJECTED_REST_MS);
      this.note(pooled, 'rejected', { kind: 'rejected', source: 'call', errorKind: '401' });
      // It may only be older than its supplier thinks it should be.
      if (newest(pooled.token, state).refreshToken !== undefined) void this.renew(pooled);
    } else if (status < 400 && state.health !== 'ok') {
      const recovered = state.health !== 'unknown';
      this.note(pooled, 'ok', recovered ? { kind: 'recovered', source: 'call' } : undefined);
    }
  }

  /** A token has one renewal at a time, on this node and, by its right in the database, on all of them. */
  private renew(pooled: PooledToken): Promise<TokenCredential | Fault> {
    const state = this.of(pooled);
    state.renewing ??= this.renewOnce(pooled, state)
      .catch((error: unknown) => {
        this.logger.warn(`A token of "${pooled.provider.name}" could not be renewed: ${String(error)}`);
        this.rest(pooled, USUAL_REST_MS);
        return fault('native_backend_error', { cause: error });
      })
      .finally(() => {
        state.renewing = undefined;
      });
    return state.renewing;
  }

  private async renewOnce(pooled: PooledToken, state: Watched): Promise<TokenCredential | Fault> {
    const before = newest(pooled.token, state);
    const stored = await this.store.tryRenew(pooled, RENEWAL_LEASE_S);
    if (stored === null) return this.renewedElsewhere(pooled, before);
    if (stored.accessToken !== before.accessToken) {
      await this.store.notRenewed(stored.id);
      return this.adopt(pooled, stored);
    }
    const renewed = await renewToken(
      this.transport,
      { ...pooled, token: stored },
      { now: Date.now(), egress: this.store.egressOf(pooled.provider) },
    );
    if (!renewed.ok) {
      await this.store.notRenewed(stored.id);
      this.rest(pooled, REJECTED_REST_MS);
      const { code } = renewed.error;
      this.note(pooled, 'rejected', { kind: 'refresh-failed', source: 'refresh', errorKind: code });
      return renewed.error;
    }
    await this.store.renewed(renewed.value, pooled.provider);
    this.note(pooled, 'ok', { kind: 'refreshed', source: 'refresh' });
    return this.adopt(pooled, renewed.value);
  }

  private async renewedElsewhere(
    pooled: PooledToken,
    before: TokenCredential,
  ): Promise<TokenCredential | Fault> {
    const deadline = monotonicMs() + FOREIGN_RENEWAL_MS;
    while (monotonicMs() < deadline) {
      await delay(RETRY_MS, undefined, { ref: false });
      const now = await this.store.tokenNow(pooled.token.id, pooled.provider);
      if (now !== null && now.accessToken !== before.accessToken) return this.adopt(pooled, now);
    }
    return fault('native_backend_error', { message: 'Another node did not finish renewing the token.' });
  }

  private adopt(pooled: PooledToken, token: TokenCredential): TokenCredential {
    const state = this.of(pooled);
    state.renewed = { from: pooled.token.accessToken, token };
    state.restUntil = 0;
    return token;
  }

  private rest(pooled: PooledToken, milliseconds: number): undefined {
    this.of(pooled).restUntil = monotonicMs() + milliseconds;
  }

  private nothingLeft(tokens: readonly PooledToken[]): Fault {
    const states = tokens.map((pooled) => this.of(pooled));
    const waitMs = Math.min(...states.map(({ restUntil }) => restUntil)) - monotonicMs();
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
    const limited = states.some(({ health }) => health === 'limited');
    return fault(limited ? 'supplier_limit' : 'native_backend_error', { retryAfterSeconds });
  }

  /** Events are kept beside the calls and never in their way. */
  private note(
    { token, label, provider }: PooledToken,
    health: CredentialHealth,
    event: Pick<TokenEvent, 'kind' | 'source' | 'errorKind' | 'detail'> | undefined,
  ): void {
    const state = this.watched.get(token.id);
    const changed = state?.health !== health;
    if (state) state.health = health;
    const write = async (): Promise<void> => {
      if (changed) await this.store.noteHealth(token.id, health);
      if (event) {
        await this.events.record({
          ...event,
          credentialId: token.id,
          provider: provider.name,
          keyName: label,
        });
      }
    };
    this.written = this.written
      .then(write)
      .catch((error: unknown) =>
        this.logger.warn(`The health of a token could not be written: ${String(error)}`),
      );
  }

  private of({ token }: PooledToken): Watched {
    let state = this.watched.get(token.id);
    if (state === undefined) {
      state = {
        inFlight: 0,
        usedAt: 0,
        restUntil: 0,
        health: 'unknown',
        renewed: undefined,
        renewing: undefined,
      };
      this.watched.set(token.id, state);
    }
    return state;
  }
}

function newest(stored: TokenCredential, { renewed }: Watched): TokenCredential {
  return renewed?.from === stored.accessToken ? renewed.token : stored;
}
