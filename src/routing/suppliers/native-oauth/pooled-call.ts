import type { ProviderView, TokenCredential } from '../../../catalogue';
import type { SupplierCall, SupplierHandler } from '../../../platform';
import type { TokenLease, TokenPool } from './token-pool';

type Send = (token: TokenCredential, handler: SupplierHandler) => SupplierCall;

/** As many tokens are tried as lanes: a request that all of them refuse is refused for its own sake. */
const MOST_TOKENS = 3;

/**
 * A call to a supplier with a pool of tokens. After a rejected token it is repeated with the next one, unseen by the
 * caller. The lane's health is not affected: a rejected token says nothing about the supplier.
 */
export class PooledCall implements SupplierCall {
  private current: SupplierCall | null = null;
  private reason: Error | null = null;
  private tries = 0;
  /** Set between two tokens, when there is no call to abort. */
  private isBetween = false;

  constructor(
    private readonly provider: ProviderView,
    private readonly pool: TokenPool,
    private readonly handler: SupplierHandler,
    private readonly send: Send,
  ) {}

  get begun(): boolean {
    return this.current?.begun ?? false;
  }

  begin(lease: TokenLease): this {
    this.tries += 1;
    try {
      this.current = this.send(lease.token, this.listener(lease));
      return this;
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  abort(reason: Error): void {
    this.reason ??= reason;
    if (this.isBetween) this.fail(reason);
    else this.current?.abort(reason);
  }

  pause(): void {
    this.current?.pause();
  }

  resume(): void {
    this.current?.resume();
  }

  private listener(lease: TokenLease): SupplierHandler {
    const { handler } = this;
    let refused = false;
    return {
      onHead: (status, headers) => {
        const seconds = Number(headers['retry-after']);
        lease.answered(status, Number.isFinite(seconds) && seconds > 0 ? seconds : null);
        refused = (status === 401 || status === 429) && this.mayTryAnother();
        if (refused) void this.again(lease);
        else handler.onHead?.(status, headers);
      },
      onData: (piece) => {
        if (!refused) handler.onData?.(piece);
      },
      onEnd: () => {
        lease.release();
        if (!refused) handler.onEnd?.();
      },
      onBroken: (error) => {
        lease.release();
        if (!refused) handler.onBroken?.(error);
      },
    };
  }

  private mayTryAnother(): boolean {
    return this.tries < MOST_TOKENS && this.reason === null && this.pool.hasReady(this.provider);
  }

  private async again(refused: TokenLease): Promise<void> {
    this.isBetween = true;
    this.current?.abort(new Error('the token was refused'));
    refused.release();
    try {
      const lease = await this.pool.take(this.provider);
      if (this.reason !== null) return lease.release();
      this.begin(lease);
      this.isBetween = false;
    } catch (error) {
      this.fail(error as Error);
    }
  }

  private fail(error: Error): void {
    if (!this.isBetween) return;
    this.isBetween = false;
    this.handler.onBroken?.(error);
  }
}
