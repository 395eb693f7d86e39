import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { LaneView } from '../../catalogue';
import type { HoldProof } from '../../kernel';
import { SupplierPools, type SupplierRequest } from '../../platform';
import type { DialectName } from '../../protocol';
import { SupplierExchange } from './supplier-exchange';

/** The key the sandbox expects; it guards nothing. */
const SANDBOX_CREDENTIAL = 'sim-sandbox';
const ANTHROPIC_VERSION = '2023-06-01';

const paths: Readonly<Record<DialectName, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

export type CallDeadlines = Pick<SupplierRequest, 'firstByteMs' | 'idleMs' | 'totalMs'>;

/** Sends requests to suppliers over pools that outlive them. */
@Injectable()
export class SupplierClient {
  constructor(private readonly pools: SupplierPools) {}

  /** Takes a hold, so that no route can reach a supplier for which no money was set aside. */
  send(
    _hold: HoldProof,
    lane: LaneView,
    dialect: DialectName,
    body: Buffer,
    caller: IncomingHttpHeaders,
    deadlines: CallDeadlines,
  ): SupplierExchange {
    const request: SupplierRequest = {
      url: new URL(lane.provider.baseUrl.replace(/\/$/, '') + paths[dialect]),
      method: 'POST',
      headers: {
        ...(dialect === 'messages'
          ? messagesHeaders(caller)
          : { authorization: `Bearer ${SANDBOX_CREDENTIAL}` }),
        'content-type': 'application/json',
        'content-length': String(body.length),
      },
      body,
      ...deadlines,
    };
    return new SupplierExchange().begin((handler) => this.pools.dispatch(request, handler));
  }
}

/** Version and beta headers come from the caller byte for byte: they belong to fields of the body. */
function messagesHeaders(caller: IncomingHttpHeaders): Record<string, string> {
  const beta = caller['anthropic-beta'];
  const version = caller['anthropic-version'];
  return {
    'x-api-key': SANDBOX_CREDENTIAL,
    'anthropic-version': typeof version === 'string' ? version : ANTHROPIC_VERSION,
    ...(beta === undefined ? {} : { 'anthropic-beta': Array.isArray(beta) ? beta.join(',') : beta }),
  };
}
