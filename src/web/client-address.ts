import { isIP } from 'node:net';
import { Injectable } from '@nestjs/common';
import type { Application } from 'express';
import { LeanAdapter } from '../platform';
import type { HttpRequest } from './http-request';

type Trusts = (address: string, hop: number) => boolean;

/**
 * This service tells the address that a request comes from. The nearest address is the connection's; each
 * proxy that is trusted to say so names the one before it. The claims of an untrusted one in X-Forwarded-For
 * count for nothing, and a text that is no address ends the chain.
 */
@Injectable()
export class ClientAddress {
  constructor(private readonly adapter: LeanAdapter) {}

  of(request: HttpRequest): string {
    const trusts = this.adapter.getInstance<Application>().get('trust proxy fn') as Trusts;
    const claimed = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',').reverse();
    let address = addressIn(request.socket.remoteAddress ?? '') ?? '';
    for (const [hop, claim] of claimed.entries()) {
      const named = addressIn(claim.trim());
      if (named === null || !trusts(address, hop)) break;
      address = named;
    }
    return address;
  }
}

/** Some proxies add the port, and a link-local address names its interface. */
const written = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+|(.*))$/;

function addressIn(text: string): string | null {
  const [, inBrackets, withPort, alone] = written.exec(text) ?? [];
  const address = (inBrackets ?? withPort ?? alone ?? '').replace(/%.*$/, '');
  return isIP(address) === 0 ? null : address;
}
