import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ResellerDomains } from '../identity';
import { fault } from '../kernel';
import { isGatewayPath, isLoopback, Settings } from '../platform';
import { type HttpRequest, pathOf } from './http-request';

/**
 * The hosts that serve pages: our own, configured ones, and those of resellers. A page under a foreign name would let
 * that name's owner act in the reader's session (DNS rebinding). Gateway and probes have no session and answer under
 * any name.
 */
@Injectable()
export class PortalHosts {
  private readonly base: URL;

  private readonly others: ReadonlySet<string>;

  constructor(
    private readonly settings: Settings,
    private readonly resellers: ResellerDomains,
  ) {
    this.others = new Set(settings.portalOrigins.map((origin) => new URL(origin).host));
    this.base = new URL(settings.baseUrl);
  }

  /** Where the portal of this request is another than BASE_URL's: its origin. */
  otherOriginOf({ headers: { host }, reseller }: HttpRequest): string | undefined {
    if (reseller !== undefined) return this.resellers.originOf(reseller);
    return this.settings.portalOrigins.find((origin) => new URL(origin).host === host?.toLowerCase());
  }

  /** Whether an origin is one of those. */
  async isOtherOrigin(origin: string): Promise<boolean> {
    if (this.settings.portalOrigins.includes(origin)) return true;
    if (!URL.canParse(origin)) return false;
    const reseller = await this.resellers.find(new URL(origin).host);
    return reseller !== undefined && this.resellers.originOf(reseller) === origin;
  }

  readonly check = (
    request: IncomingMessage,
    _response: ServerResponse,
    next: (error?: unknown) => void,
  ): void => {
    const path = pathOf(request);
    const { host } = request.headers;
    if (isGatewayPath(path) || isProbe(path) || this.isOwn(host)) next();
    else void this.checkReseller(request as HttpRequest, host).then(() => next(), next);
  };

  private async checkReseller(request: HttpRequest, host: string | undefined): Promise<void> {
    const named = this.named(host);
    const reseller = named === undefined ? undefined : await this.resellers.find(named.host);
    if (reseller === undefined)
      throw fault('origin_not_allowed', {
        message: `Pages are served at ${this.base.origin} only. The setting BASE_URL says where that is.`,
      });
    request.reseller = reseller;
  }

  private isOwn(host: string | undefined): boolean {
    const url = this.named(host);
    if (url === undefined) return false;
    if (url.host === this.base.host || this.others.has(url.host)) return true;
    return this.settings.environment !== 'production' && isLoopback(url.hostname);
  }

  private named(host: string | undefined): URL | undefined {
    const named = `${this.base.protocol}//${host ?? ''}`;
    return host === undefined || !URL.canParse(named) ? undefined : new URL(named);
  }
}

const isProbe = (path: string): boolean => path === '/health' || path.startsWith('/health/');
