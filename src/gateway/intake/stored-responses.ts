import type { MaybePromise } from '../../kernel';
import type { GatewayCall } from './describe';
import type { Inbound } from './inbound';

/** Responses that later requests can refer to. The module that stores them registers as its provider. */
export abstract class StoredResponses {
  abstract expand(inbound: Inbound): MaybePromise<Inbound>;

  /** Undefined if nothing is stored; otherwise settles once later requests can find the response. */
  abstract save(call: GatewayCall, model: string, response: Buffer | string): Promise<void> | undefined;
}
