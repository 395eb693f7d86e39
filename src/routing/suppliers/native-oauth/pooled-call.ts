import type { Dispatcher } from 'undici';
import type { ProviderView, TokenCredential } from '../../../catalogue';
import type { SupplierCall, SupplierHandler } from '../../../platform';
import type { TokenLease, TokenPool } from './token-pool';

type Controller = Dispatcher.DispatchController;
type Send = (token: TokenCredential, handler: SupplierHandler) => SupplierCall;

/** As many tokens as lanes are tried: a request that all of them refuse is refused for its own sake. */
const MOST_TOKENS = 3;

/**
 * A call to a supplier with a pool of tokens. One whose token is refused goes out again with the next, before anybody
 * hears of it: the supplier has done nothing yet, and is well, whatever it thinks of that token.
 */
export class PooledCall implements SupplierCall {
  private current: SupplierCall | null = null;
  private reason: Error | null = null;
  private tries = 0;
  /** Set between two tokens, when there is no call to abort. */
  private between: Controller | null = null;

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
    if (this.between === null) this.current?.abort(reason);
    else this.fail(reason);
  }

  private listener(lease: TokenLease): SupplierHandler {
    const { handler } = this;
    let refused = false;
    return {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onResponseStart: (controller, status, headers, text) => {
        const seconds = Number(headers['retry-after']);
        if (status >= 200) lease.answered(status, Number.isFinite(seconds) && seconds > 0 ? seconds : null);
        refused = (status === 401 || status === 429) && this.mayTryAnother();
        if (refused) void this.again(lease, controller);
        else handler.onResponseStart?.(controller, status, headers, text);
      },
      onResponseData: (controller, chunk) => {
        if (!refused) handler.onResponseData?.(controller, chunk);
      },
      onResponseEnd: (controller, trailers) => {
        lease.release();
        if (!refused) handler.onResponseEnd?.(controller, trailers);
      },
      onResponseError: (controller, error) => {
        lease.release();
        if (!refused) handler.onResponseError?.(controller, error);
      },
    };
  }

  private mayTryAnother(): boolean {
    return this.tries < MOST_TOKENS && this.reason === null && this.pool.hasReady(this.provider);
  }

  private async again(refused: TokenLease, controller: Controller): Promise<void> {
    this.between = controller;
    this.current?.abort(new Error('the token was refused'));
    refused.release();
    try {
      const lease = await this.pool.take(this.provider);
      if (this.reason !== null) return lease.release();
      this.begin(lease);
      this.between = null;
    } catch (error) {
      this.fail(error as Error);
    }
  }

  private fail(error: Error): void {
    if (this.between === null) return;
    this.handler.onResponseError?.(this.between, error);
    this.between = null;
  }
}
