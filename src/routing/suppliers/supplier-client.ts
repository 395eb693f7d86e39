import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Pool } from 'undici';
import { Settings } from '../../platform';
import type { LaneView } from '../../catalogue';
import { type ExchangeDeadlines, SupplierExchange } from './supplier-exchange';

/** The key the sandbox expects; it guards nothing. */
const SANDBOX_CREDENTIAL = 'sim-sandbox';

/** Sends requests to suppliers over pools that outlive them. */
@Injectable()
export class SupplierClient implements OnApplicationShutdown {
  private readonly pools = new Map<string, Pool>();

  constructor(private readonly settings: Settings) {}

  send(lane: LaneView, path: string, body: Buffer, deadlines: ExchangeDeadlines): SupplierExchange {
    const exchange = new SupplierExchange(deadlines);
    const base = new URL(lane.provider.baseUrl);
    this.poolOf(base.origin).dispatch(
      {
        method: 'POST',
        path: base.pathname === '/' ? path : base.pathname + path,
        headers: {
          authorization: `Bearer ${SANDBOX_CREDENTIAL}`,
          'content-type': 'application/json',
          'content-length': String(body.length),
        },
        body,
      },
      exchange,
    );
    return exchange;
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.pools.values()].map((pool) => pool.destroy()));
  }

  private poolOf(origin: string): Pool {
    let pool = this.pools.get(origin);
    if (pool === undefined) {
      pool = new Pool(origin, {
        connections: this.settings.supplierConnections,
        connectTimeout: this.settings.supplierConnectTimeoutMs,
        // The exchange keeps its own time.
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      this.pools.set(origin, pool);
    }
    return pool;
  }
}
