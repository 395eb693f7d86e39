import { isIP } from 'node:net';
import { Injectable } from '@nestjs/common';
import type { Application } from 'express';
import { LeanAdapter } from '../platform';
import type { HttpRequest } from './http-request';

type TrustFunction = (address: string, hop: number) => boolean;

/**
 * Resolves the client's address. Starting with the connection, each trusted proxy names the address before it.
 * Entries of untrusted proxies in X-Forwarded-For are ignored, and an invalid address ends the chain.
 */
@Injectable()
export class ClientAddress {
  constructor(private readonly adapter: LeanAdapter) {}

  of(request: HttpRequest): string {
    const trusts = this.adapter.getInstance<Application>().get('trust proxy fn') as TrustFunction;
    const claims = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',').reverse();
    let address = parseAddress(request.socket.remoteAddress ?? '') ?? '';
    for (const [hop, claim] of claims.entries()) {
      const claimedAddress = parseAddress(claim.trim());
      if (claimedAddress === null || !trusts(address, hop)) break;
      address = claimedAddress;
    }
    return address;
  }
}

/** Some proxies append the port, and a link-local address names its interface. */
const ADDRESS_PATTERN = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+|(.*))$/;

function parseAddress(text: string): string | null {
  const [, inBrackets, withPort, bare] = ADDRESS_PATTERN.exec(text) ?? [];
  const address = (inBrackets ?? withPort ?? bare ?? '').replace(/%.*$/, '');
  return isIP(address) === 0 ? null : address;
}
