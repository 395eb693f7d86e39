import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Pool } from 'undici';
import { Settings } from '../../platform';
import type { Lane } from '../lane';
import { type ExchangeDeadlines, SupplierExchange } from './supplier-exchange';

/** Sends requests to suppliers over pools that outlive them. */
@Injectable()
export class SupplierClient implements OnApplicationShutdown {
  private readonly pools = new Map<string, Pool>();

  constructor(private readonly settings: Settings) {}

  send(lane: Lane, path: string, body: Buffer, deadlines: ExchangeDeadlines): SupplierExchange {
    const exchange = new SupplierExchange(deadlines);
    const base = new URL(lane.baseUrl);
    this.poolOf(base.origin).dispatch(
      {
        method: 'POST',
        path: base.pathname === '/' ? path : base.pathname + path,
        headers: {
          authorization: `Bearer ${lane.credential}`,
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
