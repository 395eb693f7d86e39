import { Injectable } from '@nestjs/common';
import type { LaneView } from '../../catalogue';
import type { HoldProof } from '../../kernel';
import { SupplierPools, type SupplierRequest } from '../../platform';
import { SupplierExchange } from './supplier-exchange';

/** The key the sandbox expects; it guards nothing. */
const SANDBOX_CREDENTIAL = 'sim-sandbox';

export type CallDeadlines = Pick<SupplierRequest, 'firstByteMs' | 'idleMs' | 'totalMs'>;

/** Sends requests to suppliers over pools that outlive them. */
@Injectable()
export class SupplierClient {
  constructor(private readonly pools: SupplierPools) {}

  /** Takes a hold, so that no route can reach a supplier for which no money was set aside. */
  send(
    _hold: HoldProof,
    lane: LaneView,
    path: string,
    body: Buffer,
    deadlines: CallDeadlines,
  ): SupplierExchange {
    const request: SupplierRequest = {
      url: new URL(lane.provider.baseUrl.replace(/\/$/, '') + path),
      method: 'POST',
      headers: {
        authorization: `Bearer ${SANDBOX_CREDENTIAL}`,
        'content-type': 'application/json',
        'content-length': String(body.length),
      },
      body,
      ...deadlines,
    };
    return new SupplierExchange().begin((handler) => this.pools.dispatch(request, handler));
  }
}
