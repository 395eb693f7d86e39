import { Injectable } from '@nestjs/common';
import type { Application } from 'express';
import { LeanAdapter } from '../platform';
import type { HttpRequest } from './http-request';

type Trusts = (address: string, hop: number) => boolean;

/**
 * Where a request comes from. The nearest address is the connection's; each proxy that is trusted to say so names the
 * one before it. What an untrusted one claims in X-Forwarded-For counts for nothing.
 */
@Injectable()
export class ClientAddress {
  constructor(private readonly adapter: LeanAdapter) {}

  of(request: HttpRequest): string {
    const trusts = this.adapter.getInstance<Application>().get('trust proxy fn') as Trusts;
    const claimed = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',').reverse();
    let address = request.socket.remoteAddress ?? '';
    for (const [hop, claim] of claimed.entries()) {
      const named = claim.trim();
      if (named === '' || !trusts(address, hop)) break;
      address = named;
    }
    return address;
  }
}
